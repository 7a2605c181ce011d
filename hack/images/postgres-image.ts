/**
 * The container image of manifests/examples/database.yaml: PostgreSQL as this machine's Debian package brings it, with
 * the libraries that it needs, over busybox. No registry is asked for it. `bun hack/images/postgres-image.ts FILE`
 * writes it as an archive, which `k3ts images import` takes.
 */
import { execFileSync } from "node:child_process"
import { existsSync, lstatSync, readdirSync, readFileSync, realpathSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { argv } from "node:process"
import { buildImageArchive } from "../../pkg/oci/archive.ts"
import type { ImageSource } from "../../pkg/oci/image.ts"
import type { TarEntry } from "../../pkg/oci/tar.ts"
import { busyboxLayer, file } from "./images.ts"

const PROGRAMS = "/usr/lib/postgresql"
const SHARED = "/usr/share/postgresql"
const ZONES = "/usr/share/zoneinfo"
/** The user of PostgreSQL in its container, with the number that its images have elsewhere. */
const POSTGRES = 999
/** Compiling queries at run time: three times as large as all the rest. PostgreSQL does without it where it is absent. */
const COMPILER = /^(llvmjit.*|bitcode)$/
/** Copies of the time zones with other rules for leap seconds. */
const OTHER_ZONES = /^(posix|right)$/

/** The newest PostgreSQL that is installed, such as "15"; undefined where there is none. */
export function postgresVersion(): string | undefined {
  const installed = existsSync(PROGRAMS) ? readdirSync(PROGRAMS) : []
  return installed
    .filter((version) => existsSync(join(PROGRAMS, version, "bin/postgres")))
    .sort((a, b) => Number(b) - Number(a))[0]
}

/**
 * PostgreSQL's server and client programs, run as the user postgres. SIGINT ends it: it then disconnects its clients
 * and shuts down, where SIGTERM would let it wait for them. @throws Error where PostgreSQL is not installed
 */
export function postgresImage(name = "k3ts.local/postgres:1"): ImageSource {
  const version = postgresVersion()
  if (version === undefined)
    throw new Error("Cannot pack PostgreSQL: it is not installed; run: apt-get install -y postgresql")
  const home = join(PROGRAMS, version)
  const programs = treeOf(home, COMPILER)
  const libraries = librariesOf(programs.flatMap(({ type, path }) => (type === "file" ? [`/${path}`] : [])))
  const files: TarEntry[] = [
    file("etc/passwd", `root:x:0:0:root:/root:/bin/sh\npostgres:x:${POSTGRES}:${POSTGRES}:postgres:/data:/bin/sh\n`),
    file("etc/group", `root:x:0:\npostgres:x:${POSTGRES}:\n`),
    { type: "directory", path: "var/run/postgresql", uid: POSTGRES, gid: POSTGRES },
    { type: "directory", path: "data", uid: POSTGRES, gid: POSTGRES },
    ...libraries,
    ...programs,
    ...treeOf(join(SHARED, version)),
    ...treeOf(ZONES, OTHER_ZONES),
  ]
  return {
    name,
    layers: [busyboxLayer(), { files }],
    config: {
      User: `${POSTGRES}:${POSTGRES}`,
      Env: [`PATH=${home}/bin:/usr/sbin:/usr/bin:/sbin:/bin`],
      Cmd: ["postgres", "-D", "/data"],
      ExposedPorts: { "5432/tcp": {} },
      WorkingDir: "/data",
      StopSignal: "SIGINT",
    },
  }
}

/** All files below a folder, without those whose name is `unwanted`. Files behind links are taken as files. */
function treeOf(folder: string, unwanted?: RegExp): readonly TarEntry[] {
  return readdirSync(folder)
    .sort()
    .filter((name) => unwanted?.test(name) !== true && existsSync(join(folder, name)))
    .flatMap((name): readonly TarEntry[] => {
      const path = join(folder, name)
      if (lstatSync(path).isDirectory()) return treeOf(path, unwanted)
      if (lstatSync(realpathSync(path)).isDirectory()) return []
      return [copyOf(path)]
    })
}

const copyOf = (path: string): TarEntry => ({
  type: "file",
  path: path.slice(1),
  data: readFileSync(path),
  mode: lstatSync(realpathSync(path)).mode & 0o777,
})

/** The libraries that programs are linked with, and the loader. @throws Error that names one which is missing */
function librariesOf(programs: readonly string[]): readonly TarEntry[] {
  const binaries = programs.filter((path) => readFileSync(path).subarray(0, 4).equals(ELF))
  const said = execFileSync("ldd", binaries, { encoding: "utf8", maxBuffer: 16 * 1024 * 1024 })
  const missing = /^\s*(\S+) => not found$/m.exec(said)?.[1]
  if (missing !== undefined) throw new Error(`Cannot pack PostgreSQL: the library ${missing} is not installed`)
  const paths = [...said.matchAll(/^\s+(?:\S+ => )?(\/\S+) \(0x/gm)].map((match) => match[1]!)
  return [...new Set(paths)].sort().map(copyOf)
}

const ELF = Buffer.from("\x7fELF", "latin1")

if (import.meta.main) {
  const [target] = argv.slice(2)
  if (target === undefined) throw new Error("Cannot write the image: expected the file to write as the only argument")
  writeFileSync(target, buildImageArchive(postgresImage()))
}
