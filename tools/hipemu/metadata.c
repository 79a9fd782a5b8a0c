/* The metadata note: MessagePack, read with libmsgpackc, every value checked before use. */
#include "module.h"

#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_KERNELS = 65536, MAX_ARGS = 4096, MAX_KERNARG = 65536 };

/* ------------------------------------------------------------------ structure
 *
 * libmsgpackc allocates what a collection's header claims before it has seen one element: so the claims are checked
 * first. Every element takes at least a byte. */

typedef struct cursor {
    const uint8_t *data;
    size_t size, at;
} cursor;

/* A big-endian number of `bytes` bytes. */
static bool take(cursor *c, unsigned bytes, uint64_t *value)
{
    if (bytes > c->size - c->at) return false;
    *value = 0;
    for (unsigned i = 0; i < bytes; i++) *value = *value << 8 | c->data[c->at++];
    return true;
}

static bool skip(cursor *c, uint64_t bytes)
{
    if (bytes > c->size - c->at) return false;
    c->at += (size_t)bytes;
    return true;
}

/* Reads one header: *items is the number of elements that follow it. */
static bool header(cursor *c, uint64_t *items)
{
    uint64_t tag, n = 0;
    *items = 0;
    if (!take(c, 1, &tag)) return false;
    if (tag < 0x80 || tag >= 0xe0) return true; /* small integers */
    if (tag < 0x90) {
        *items = 2 * (tag & 15);
        return true;
    }
    if (tag < 0xa0) {
        *items = tag & 15;
        return true;
    }
    if (tag < 0xc0) return skip(c, tag & 31);
    switch (tag) {
    case 0xc0: /* nil */
    case 0xc2:
    case 0xc3:
        return true;
    case 0xc4:
    case 0xd9:
        return take(c, 1, &n) && skip(c, n); /* binary, text */
    case 0xc5:
    case 0xda:
        return take(c, 2, &n) && skip(c, n);
    case 0xc6:
    case 0xdb:
        return take(c, 4, &n) && skip(c, n);
    case 0xcc:
    case 0xd0:
        return skip(c, 1);
    case 0xcd:
    case 0xd1:
        return skip(c, 2);
    case 0xca:
    case 0xce:
    case 0xd2:
        return skip(c, 4);
    case 0xcb:
    case 0xcf:
    case 0xd3:
        return skip(c, 8);
    case 0xdc:
        return take(c, 2, items);
    case 0xdd:
        return take(c, 4, items);
    case 0xde:
        return take(c, 2, &n) && (*items = 2 * n, true);
    case 0xdf:
        return take(c, 4, &n) && (*items = 2 * n, true);
    default:
        return false; /* extension types have no place in metadata */
    }
}

static bool well_formed(const uint8_t *data, size_t size)
{
    enum { MAX_DEPTH = 16 };
    cursor c = {data, size, 0};
    uint64_t left[MAX_DEPTH] = {1};
    int depth = 0;
    while (depth >= 0) {
        uint64_t items;
        if (!left[depth]) {
            depth--;
            continue;
        }
        left[depth]--;
        if (!header(&c, &items) || items > c.size - c.at) return false;
        if (!items) continue;
        if (++depth == MAX_DEPTH) return false;
        left[depth] = items;
    }
    return true;
}

/* ------------------------------------------------------------------ values */

static const msgpack_object *find(const msgpack_object *map, const char *key)
{
    size_t length = strlen(key);
    if (!map || map->type != MSGPACK_OBJECT_MAP) return NULL;
    for (uint32_t i = 0; i < map->via.map.size; i++) {
        const msgpack_object *k = &map->via.map.ptr[i].key;
        if (k->type == MSGPACK_OBJECT_STR && k->via.str.size == length &&
            memcmp(k->via.str.ptr, key, length) == 0) {
            return &map->via.map.ptr[i].val;
        }
    }
    return NULL;
}

static bool number(const msgpack_object *map, const char *key, uint32_t fallback, uint32_t *value)
{
    const msgpack_object *v = find(map, key);
    *value = fallback;
    if (!v) return true;
    if (v->type != MSGPACK_OBJECT_POSITIVE_INTEGER || v->via.u64 > UINT32_MAX) return false;
    *value = (uint32_t)v->via.u64;
    return true;
}

/* A copy owned by the module; "" when absent; NULL when out of memory. */
static const char *text(emu_module *module, const msgpack_object *map, const char *key)
{
    const msgpack_object *v = find(map, key);
    bool present = v && v->type == MSGPACK_OBJECT_STR;
    size_t length = present ? v->via.str.size : 0;
    if (module->string_count == module->string_capacity) {
        size_t capacity = module->string_capacity ? 2 * module->string_capacity : 64;
        char **grown = realloc(module->strings, capacity * sizeof(*grown));
        if (!grown) return NULL;
        module->strings = grown;
        module->string_capacity = capacity;
    }
    char *copy = malloc(length + 1);
    if (!copy) return NULL;
    if (length) memcpy(copy, v->via.str.ptr, length);
    copy[length] = 0;
    module->strings[module->string_count++] = copy;
    return copy;
}

/* ------------------------------------------------------------------ arguments */

static emu_arg_kind arg_kind(const char *value_kind)
{
    if (strncmp(value_kind, "hidden_", 7) == 0) return EMU_ARG_HIDDEN;
    if (strcmp(value_kind, "by_value") == 0) return EMU_ARG_BY_VALUE;
    if (strcmp(value_kind, "global_buffer") == 0) return EMU_ARG_GLOBAL_BUFFER;
    if (strcmp(value_kind, "dynamic_shared_pointer") == 0) return EMU_ARG_DYNAMIC_SHARED;
    return EMU_ARG_OTHER;
}

static emu_status read_arg(emu_module *module, const emu_kernel *kernel, const msgpack_object *o,
                           emu_arg *arg, emu_error *error)
{
    arg->name = text(module, o, ".name");
    arg->value_kind = text(module, o, ".value_kind");
    if (!arg->name || !arg->value_kind) return emu_fail(error, EMU_NO_MEMORY, "no memory for the metadata");
    if (!number(o, ".offset", 0, &arg->offset) || !number(o, ".size", 0, &arg->size) ||
        arg->offset > kernel->kernarg_size || arg->size > kernel->kernarg_size - arg->offset) {
        return emu_fail(error, EMU_MALFORMED, "kernel %s: argument \"%s\" lies outside the kernarg segment",
                        kernel->name, arg->name);
    }
    arg->kind = arg_kind(arg->value_kind);
    return EMU_OK;
}

static int by_offset(const void *a, const void *b)
{
    const emu_arg *x = a, *y = b;
    bool hidden_x = x->kind == EMU_ARG_HIDDEN, hidden_y = y->kind == EMU_ARG_HIDDEN;
    if (hidden_x != hidden_y) return hidden_x ? 1 : -1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static emu_status read_args(emu_module *module, emu_kernel *kernel, const msgpack_object *o, emu_error *error)
{
    const msgpack_object *list = find(o, ".args");
    if (!list) return EMU_OK;
    if (list->type != MSGPACK_OBJECT_ARRAY || list->via.array.size > MAX_ARGS) {
        return emu_fail(error, EMU_MALFORMED, "kernel %s: .args is not a list", kernel->name);
    }
    emu_arg *args = calloc(list->via.array.size + 1, sizeof(*args));
    if (!args) return emu_fail(error, EMU_NO_MEMORY, "no memory for the metadata");
    kernel->args = args;
    kernel->arg_count = list->via.array.size;
    for (uint32_t i = 0; i < kernel->arg_count; i++) {
        emu_status status = read_arg(module, kernel, &list->via.array.ptr[i], &args[i], error);
        if (status) return status;
    }
    qsort(args, kernel->arg_count, sizeof(*args), by_offset);
    for (uint32_t i = 0; i < kernel->arg_count && args[i].kind != EMU_ARG_HIDDEN; i++) {
        kernel->explicit_count++;
        uint32_t end = args[i].offset + args[i].size;
        if (end > kernel->explicit_size) kernel->explicit_size = end;
    }
    return EMU_OK;
}

/* ------------------------------------------------------------------ kernels */

static bool read_numbers(const msgpack_object *o, emu_kernel *k, uint32_t *wave_size)
{
    bool ok = number(o, ".kernarg_segment_size", 0, &k->kernarg_size);
    ok &= number(o, ".kernarg_segment_align", 8, &k->kernarg_align);
    ok &= number(o, ".group_segment_fixed_size", 0, &k->lds_bytes);
    ok &= number(o, ".private_segment_fixed_size", 0, &k->scratch_bytes);
    ok &= number(o, ".vgpr_count", 0, &k->vgprs);
    ok &= number(o, ".sgpr_count", 0, &k->sgprs);
    ok &= number(o, ".vgpr_spill_count", 0, &k->vgpr_spills);
    ok &= number(o, ".sgpr_spill_count", 0, &k->sgpr_spills);
    ok &= number(o, ".max_flat_workgroup_size", 1024, &k->max_workgroup);
    ok &= number(o, ".wavefront_size", 64, wave_size);
    return ok;
}

static emu_status read_kernel(emu_module *module, const msgpack_object *o, emu_kernel *k, emu_error *error)
{
    uint32_t wave_size;
    k->module = module;
    k->arch = module->arch;
    k->name = text(module, o, ".name");
    k->symbol = text(module, o, ".symbol");
    if (!k->name || !k->symbol) return emu_fail(error, EMU_NO_MEMORY, "no memory for the metadata");
    if (!*k->name || !*k->symbol) return emu_fail(error, EMU_MALFORMED, "a kernel without .name or .symbol");
    if (!read_numbers(o, k, &wave_size))
        return emu_fail(error, EMU_MALFORMED, "kernel %s: a number is none", k->name);
    if (wave_size != 32) {
        return emu_fail(error, EMU_UNSUPPORTED, "kernel %s: waves of %u lanes (only 32)", k->name, wave_size);
    }
    if (k->kernarg_size > MAX_KERNARG || k->scratch_bytes > (1 << 24) || k->max_workgroup > 1024) {
        return emu_fail(error, EMU_MALFORMED,
                        "kernel %s: kernarg, scratch or workgroup size beyond the hardware's", k->name);
    }
    const msgpack_object *dynamic = find(o, ".uses_dynamic_stack");
    k->dynamic_stack = dynamic && dynamic->type == MSGPACK_OBJECT_BOOLEAN && dynamic->via.boolean;
    const msgpack_object *required = find(o, ".reqd_workgroup_size");
    if (required && required->type == MSGPACK_OBJECT_ARRAY && required->via.array.size == 3) {
        for (int i = 0; i < 3; i++) {
            const msgpack_object *n = &required->via.array.ptr[i];
            if (n->type == MSGPACK_OBJECT_POSITIVE_INTEGER) k->required_block[i] = (uint32_t)n->via.u64;
        }
    }
    return read_args(module, k, o, error);
}

static emu_status read_root(emu_module *module, const msgpack_object *root, emu_error *error)
{
    const msgpack_object *version = find(root, "amdhsa.version"), *list = find(root, "amdhsa.kernels");
    if (!version || version->type != MSGPACK_OBJECT_ARRAY || version->via.array.size != 2 ||
        version->via.array.ptr[0].type != MSGPACK_OBJECT_POSITIVE_INTEGER) {
        return emu_fail(error, EMU_MALFORMED, "metadata without amdhsa.version");
    }
    if (version->via.array.ptr[0].via.u64 != 1) {
        return emu_fail(error, EMU_UNSUPPORTED, "metadata of major version %llu (known: 1)",
                        (unsigned long long)version->via.array.ptr[0].via.u64);
    }
    if (!list) return EMU_OK; /* a module of variables alone */
    if (list->type != MSGPACK_OBJECT_ARRAY || list->via.array.size > MAX_KERNELS) {
        return emu_fail(error, EMU_MALFORMED, "amdhsa.kernels is not a list");
    }
    module->kernels = calloc(list->via.array.size + 1, sizeof(*module->kernels));
    if (!module->kernels) return emu_fail(error, EMU_NO_MEMORY, "no memory for the metadata");
    for (uint32_t i = 0; i < list->via.array.size; i++) {
        module->kernel_count = i + 1;
        emu_status status = read_kernel(module, &list->via.array.ptr[i], &module->kernels[i], error);
        if (status) return status;
    }
    return EMU_OK;
}

emu_status emu_metadata_read(emu_module *module, emu_error *error)
{
    msgpack_unpacked unpacked;
    if (!well_formed(module->elf.note, module->elf.note_size)) {
        return emu_fail(error, EMU_MALFORMED, "the metadata note is not MessagePack");
    }
    msgpack_unpacked_init(&unpacked);
    msgpack_unpack_return result =
        msgpack_unpack_next(&unpacked, (const char *)module->elf.note, module->elf.note_size, NULL);
    emu_status status = EMU_OK;
    if (result != MSGPACK_UNPACK_SUCCESS && result != MSGPACK_UNPACK_EXTRA_BYTES) {
        status = emu_fail(error, EMU_MALFORMED, "the metadata note is not MessagePack");
    } else {
        status = read_root(module, &unpacked.data, error);
    }
    msgpack_unpacked_destroy(&unpacked);
    return status;
}
