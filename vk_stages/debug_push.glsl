// What all passes of the debug view share.
layout(push_constant) uniform push_block
{
    ivec2 origin; // of the view in its image
    ivec2 size;
    uint age_known; // the age image of the frame before holds something
};

bool has_history(vec2 q) { return p.reset == 0u && on_screen(q); }
