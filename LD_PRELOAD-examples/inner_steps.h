/* See inner_steps.c. */
void transport_open(void);
void transport_send(int messages);
