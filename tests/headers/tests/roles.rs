//! The types that parameters' names in the table stand for.
//!
//! The library passes every argument on as a machine word, so its compiler checks none of them. It takes them by their
//! names though: a `count` that is an address, or a `request` that is no address, is a wrong trace or a crash. So each
//! name stands for one type, and the headers have to agree.

use crate::pattern;

/// The types of the parameters of some names.
pub struct Role {
    names: &'static str,
    /// The functions in which they have these types, without `MPI_`, form and width.
    functions: &'static str,
    plain: &'static str,
    /// The type in the variant with large counts.
    large: &'static str,
}

/// The type in the spelling of C that a parameter of this name has, `A | B` where libraries differ; `None` for a name
/// that stands for nothing.
pub fn kind(function: &str, parameter: &str, large: bool) -> Option<&'static str> {
    let among = |list: &str, name: &str| list.split_whitespace().any(|pattern| pattern::matches(pattern, name));
    let role = ROLES.iter().find(|role| among(role.names, parameter) && among(role.functions, function))?;
    Some(if large { role.large } else { role.plain })
}

const fn role(names: &'static str, kind: &'static str) -> Role {
    Role { names, functions: "*", plain: kind, large: kind }
}

impl Role {
    /// Only in these functions. The first role that fits counts, so it stands before the general one.
    const fn of(self, functions: &'static str) -> Self {
        Self { functions, ..self }
    }

    const fn large(self, large: &'static str) -> Self {
        Self { large, ..self }
    }
}

const ROLES: &[Role] = &[
    // What a function of one rank finds or is told, where the same name has another type elsewhere.
    role("rank", "int *").of("Comm_rank Group_rank Cart_rank"),
    role("coords", "const int *").of("Cart_rank"),
    role("dims", "int *").of("Dims_create Cart_get"),
    role("periods edges sources destinations", "int *").of("Cart_get Graph_get Dist_graph_neighbors"),
    role("indx", "const int *").of("Graph_map"),
    role("ndims", "int *").of("Cartdim_get"),
    role("nnodes", "int *").of("Graphdims_get"),
    role("indegree outdegree", "int *").of("Dist_graph_neighbors_count"),
    role("sourceweights destweights", "int *").of("Dist_graph_neighbors"),
    role("disp", "int").of("Cart_shift"),
    role("disp", "MPI_Offset *").of("File_get_byte_offset File_get_view"),
    role("offset", "MPI_Offset *").of("File_get_position"),
    role("etype filetype", "MPI_Datatype *").of("File_get_view"),
    role("datarep comm_name win_name type_name", "char *").of("*_get_name File_get_view"),
    role("port_name", "char *").of("Open_port Lookup_name"),
    role("key", "char *").of("Info_get_nthkey"),
    role("key", "const char *").of("Info_*"),
    role("value", "const char *").of("Info_set"),
    role("valuelen", "int *").of("Info_get_valuelen"),
    role("status", "int *").of("Topo_test"),
    role("status", "const MPI_Status *").of("Get_count Get_elements Get_elements_x"),
    role("count", "int *").of("Get_count Get_elements"),
    role("count", "MPI_Count *").of("Get_elements_x"),
    role("count", "MPI_Count").of("Status_set_elements_x"),
    role("size", "MPI_Count *").of("Type_size_x"),
    role("size", "MPI_Aint *").of("Pack_external_size Win_shared_query"),
    role("size", "MPI_Aint").of("Alloc_mem"),
    role("size", "int").of("Type_match_size Buffer_attach"),
    role("size", "int *").of("Comm_size Comm_remote_size Group_size Type_size Pack_size Buffer_detach"),
    role("disp_unit", "int *").of("Win_shared_query"),
    role("lb extent true_lb true_extent", "MPI_Count *").of("*_extent_x"),
    role("lb extent true_lb true_extent", "MPI_Aint *").of("*_extent"),
    role("insize outsize", "MPI_Aint").of("*_external"),
    role("position", "MPI_Aint *").of("*_external"),
    role("outcount", "int").of("Unpack Unpack_external"),
    role("op", "MPI_Op *").of("Op_create Op_free"),
    role("commute", "int").of("Op_create"),
    role("amode", "int *").of("File_get_amode"),
    role("datatype", "MPI_Datatype *").of("Type_match_size"),
    role("info", "MPI_Info *").of("Info_free"),
    role("group", "MPI_Group *").of("Comm_group Comm_remote_group Win_get_group File_get_group Group_free"),
    role("errhandler", "MPI_Errhandler *").of("*_get_errhandler Errhandler_free"),
    role("comm_keyval type_keyval win_keyval", "int *").of("*_create_keyval *_free_keyval"),
    // Communicators, groups and sessions.
    role("comm", "MPI_Comm *").of("Comm_free Comm_disconnect"),
    role("intercomm", "MPI_Comm").of("Intercomm_merge"),
    role("comm local_comm peer_comm", "MPI_Comm"),
    role("comm1 comm2", "MPI_Comm"),
    role("group1 group2", "MPI_Group"),
    role("newgroup", "MPI_Group *"),
    role("file", "MPI_File"),
    role("newinfo", "MPI_Info *"),
    role("newcomm newintercomm newintracomm intercomm parent", "MPI_Comm *"),
    role("group local_group remote_group", "MPI_Group"),
    role("session", "MPI_Session *"),
    // Data types and operators.
    role("datatype", "MPI_Datatype *").of("Type_commit Type_free"),
    role("datatype sendtype recvtype oldtype etype filetype *_datatype", "MPI_Datatype"),
    role("sendtypes recvtypes", "const MPI_Datatype *"),
    role("newtype", "MPI_Datatype *"),
    // Functions that were removed have no `const` there.
    role("types", "const MPI_Datatype * | MPI_Datatype *"),
    role("displacements", "const int *").of("Type_indexed Type_create_indexed_block"),
    role("displacements", "const MPI_Aint * | MPI_Aint *"),
    role("blocklengths", "const int * | int *"),
    role("stride", "int").of("Type_vector"),
    role("stride lb extent", "MPI_Aint"),
    role("op", "MPI_Op"),
    // Requests, messages and what became of them.
    role("request", "MPI_Request").of("Request_get_status Grequest_complete Pready Pready_* Parrived"),
    role("request", "MPI_Request *"),
    // Intel MPI has no `const` there.
    role("requests", "const MPI_Request * | MPI_Request *").of("Request_get_status_*"),
    role("requests", "MPI_Request *"),
    role("query_fn", "MPI_Grequest_query_function"),
    role("free_fn", "MPI_Grequest_free_function"),
    role("cancel_fn", "MPI_Grequest_cancel_function"),
    role("extra_state", "void *"),
    role("message", "MPI_Message *"),
    role("status statuses", "MPI_Status *"),
    // Windows, files and hints.
    role("win", "MPI_Win *").of("Win_create Win_create_dynamic Win_allocate Win_allocate_shared Win_free"),
    role("win", "MPI_Win"),
    role("fh", "MPI_File *").of("File_open File_close"),
    role("fh", "MPI_File"),
    role("info", "MPI_Info"),
    role("info_used", "MPI_Info *"),
    role("infos", "const MPI_Info *"),
    role("errhandler", "MPI_Errhandler *").of("*_create_errhandler"),
    role("errhandler", "MPI_Errhandler"),
    role("comm_errhandler_fn", "MPI_Comm_errhandler_function"),
    role("win_errhandler_fn", "MPI_Win_errhandler_function"),
    role("file_errhandler_fn", "MPI_File_errhandler_function"),
    role("session_errhandler_fn", "MPI_Session_errhandler_function"),
    // Counts and places, which are wider in a variant with large counts.
    role("count", "MPI_Count").of("Psend_init Precv_init"),
    role("count sendcount recvcount origin_count target_count result_count", "int").large("MPI_Count"),
    role("sendcounts recvcounts", "const int *").large("const MPI_Count *"),
    role("displs sdispls rdispls", "const int *").large("const MPI_Aint *"),
    role("sdispls_in_bytes rdispls_in_bytes", "const MPI_Aint *"),
    role("target_disp", "MPI_Aint"),
    role("disp_unit", "int").large("MPI_Aint"),
    role("size", "MPI_Offset").of("File_set_size File_preallocate"),
    role("size", "MPI_Offset *").of("File_get_size"),
    role("size", "MPI_Aint").of("Win_*"),
    role("size", "int").of("Type_create_darray"),
    role("offset", "MPI_Offset *").of("File_get_position_shared"),
    role("offset disp", "MPI_Offset"),
    // What a call finds. These stand before the numbers, as some of the names do for both.
    role("flag", "int").of("File_set_atomicity"),
    role("index", "const int *").of("Graph_create"),
    role("flag index outcount indices provided array_of_errcodes", "int *"),
    // Numbers.
    role("tag", "const char *").of("*_from_group *_from_groups"),
    role("root dest source tag sendtag recvtag rank target_rank local_leader remote_leader", "int"),
    role("color key split_type reorder high assert lock_type amode whence required level errorcode fd", "int"),
    role("maxprocs", "const int *").of("Comm_spawn_multiple"),
    // MPICH 4 and Open MPI have no `const` there.
    role("partitions", "const int * | int *").of("Pready_list"),
    role("blocklength order maxprocs n ndims nnodes indegree outdegree partitions partition partition_* length", "int"),
    role(
        "dims periods remain_dims edges sources degrees destinations *weights *sizes starts distribs dargs",
        "const int *",
    ),
    role("incount insize outcount outsize direction max* n valuelen typeclass *_keyval", "int"),
    role("ranks ranks1", "const int *"),
    role("ranks2 coords neighbors integers indx", "int *"),
    role("ranges", "int[] *"),
    role("result resultlen newrank rank_source rank_dest nedges nneighbors weighted nkeys num_* combiner", "int *"),
    role("errorclass commute position", "int *"),
    role("addresses", "MPI_Aint *"),
    role("datatypes", "MPI_Datatype *"),
    // Functions of the program.
    role("comm_copy_attr_fn", "MPI_Comm_copy_attr_function"),
    role("comm_delete_attr_fn", "MPI_Comm_delete_attr_function"),
    role("type_copy_attr_fn", "MPI_Type_copy_attr_function"),
    role("type_delete_attr_fn", "MPI_Type_delete_attr_function"),
    role("win_copy_attr_fn", "MPI_Win_copy_attr_function"),
    role("win_delete_attr_fn", "MPI_Win_delete_attr_function"),
    role("user_fn", "MPI_User_function"),
    role("attribute_val", "void *"),
    // Words.
    role("string value", "char *"),
    role("service_name type_name", "const char *"),
    role("argc", "int *"),
    role("argv", "char ***").of("Init Init_thread"),
    role("argv commands", "char **"),
    role("argvs", "char ***"),
    role("comm_name win_name filename datarep command port_name stringtag", "const char *"),
    // Buffers: what is only read may not be written by the library either.
    role("origin_addr", "void *").of("Get Rget"),
    role("sendbuf inbuf origin_addr compare_addr", "const void *"),
    role("buf", "const void *").of("Send *send Send_init *send_init File_*write*"),
    role("base", "const void *").of("Win_detach"),
    role("buffer buf recvbuf inoutbuf outbuf buffer_addr result_addr base baseptr", "void *"),
];
