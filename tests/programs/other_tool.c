/* Another tool's library, which a program can be linked with under any name. */
int other_tool(int value) { return value + 1; }
