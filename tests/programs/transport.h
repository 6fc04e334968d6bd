/* See transport.c. */
void transport_open(int is_touched);
void transport_send(const void *message);
