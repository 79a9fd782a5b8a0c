#!/bin/sh
# Runs a program with the Khronos validation layer on it, synchronisation validation included, and fails when the layer
# says anything, or was not there:
#   run.sh PROGRAM [ARGUMENTS]
# The program needs no code for that. Its exit code is passed on; 77: no layer on this machine.
set -u
log=$(mktemp) settings=$(mktemp) loader=$(mktemp)
trap 'rm -f "$log" "$settings" "$loader"' EXIT
cat >"$settings" <<END
khronos_validation.debug_action = VK_DBG_LAYER_ACTION_LOG_MSG
khronos_validation.log_filename = $log
khronos_validation.report_flags = error,warn,perf
khronos_validation.enables = VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT
END
[ -n "$(find /usr/share/vulkan/explicit_layer.d /etc/vulkan/explicit_layer.d -name '*khronos_validation*' 2>/dev/null)" ] ||
    { echo "run.sh: no validation layer installed"; exit 77; }
export VK_LAYER_SETTINGS_PATH="$settings"
export VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation VK_LAYER_ENABLES=VALIDATION_CHECK_ENABLE_SYNCHRONIZATION_VALIDATION_QUEUE_SUBMIT
export VK_LOADER_DEBUG=layer
"$@" 2>"$loader"
result=$?
grep -v 'LAYER:' "$loader" >&2
[ $result -eq 0 ] || { echo "run.sh: exit code $result"; exit $result; }
grep -q 'LAYER:.*[Ii]nsert.*VK_LAYER_KHRONOS_validation' "$loader" ||
    { echo "run.sh: the validation layer was not loaded"; exit 1; }
# The layer's own lost wait (runtime/base/vk.h: d4r_vk_layer_gave_up) is no message about the program.
awk '/^[^ ]/ { own = /UNASSIGNED-VkSemaphore-state-timeout/ } !own' "$log" >"$loader"
if [ -s "$loader" ]; then
    head -n 20 "$loader"
    echo "run.sh: the validation layer has something to say"
    exit 1
fi
