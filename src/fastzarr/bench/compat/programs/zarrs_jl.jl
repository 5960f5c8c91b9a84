# Implementation `Zarrs.jl` of the command protocol (docs/external-backends.md): an example.
#
# It has NOT been run by the authors of fastzarr, who had no Julia at hand: take it as a start, and say what
# it needed. In an environment with the packages Zarrs (which needs a Rust tool chain) and JSON:
#   julia --project=. zarrs_jl.jl

using JSON
using Zarrs

const TYPES = Dict(
    "int8" => Int8, "uint16" => UInt16, "int32" => Int32, "float32" => Float32, "float64" => Float64,
)

struct Unsupported <: Exception
    message::String
end

# Julia's first axis is the fastest, Zarr's the last: shapes are reversed, and the bytes stay as they are.
reversed(shape) = Tuple(reverse(Int.(shape)))

fill_value(given, ::Type{T}) where {T} = given == "NaN" ? T(NaN) : T(given)

function check(operation, case)
    haskey(TYPES, case["data_type"]) ||
        throw(Unsupported("this program gives Zarrs.jl no data type $(case["data_type"])"))
    operation == "write" || return
    case["endian"] == "little" || throw(Unsupported("this program writes little endian only"))
    case["codec"] in ("none", "zstd", "blosc", "gzip") ||
        throw(Unsupported("this program gives Zarrs.jl no codec $(case["codec"])"))
end

function write_array(case, directory, file)
    T = TYPES[case["data_type"]]
    shape = reversed(case["shape"])
    values = reshape(collect(reinterpret(T, read(file))), shape)
    sharded = case["shard_shape"] !== nothing
    more = sharded ? (; shard_shape = reversed(case["shard_shape"])) : (;)
    array = zcreate(
        T, shape...;
        path = directory, chunks = reversed(case["chunk_shape"]), compressor = case["codec"],
        compressor_level = case["level"], fill_value = fill_value(case["fill_value"], T),
        zarr_version = case["zarr_format"], more...,
    )
    rows = case["written_rows"]
    array[:, :, 1:rows] = values[:, :, 1:rows]
    return Dict("status" => "ok")
end

function read_array(case, directory, file)
    array = zopen(directory)[:, :, :]
    write(file, array)
    return Dict("status" => "ok", "shape" => reverse(size(array)))
end

function answer(request)
    operation = request["operation"]
    operation == "describe" && return Dict(
        "status" => "ok", "version" => string(pkgversion(Zarrs)), "writes" => true, "reads" => true,
    )
    try
        case = request["case"]
        check(operation, case)
        act = operation == "write" ? write_array : read_array
        return act(case, request["directory"], request["file"])
    catch error
        error isa Unsupported && return Dict("status" => "unsupported", "message" => error.message)
        return Dict("status" => "failed", "message" => sprint(showerror, error))
    end
end

# What a package prints must not be taken for an answer.
const ANSWERS = stdout
redirect_stdout(stderr)

for line in eachline(stdin)
    println(ANSWERS, JSON.json(answer(JSON.parse(line))))
    flush(ANSWERS)
end
