/* A library that can be preloaded and takes no call. */
int not_the_tracer;
