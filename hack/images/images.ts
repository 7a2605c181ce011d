/**
 * The container images of manifests/examples and of the tests, made of Debian's busybox-static alone, so that no
 * registry is asked for them. `bun hack/images/images.ts FILE` writes them all into one archive, FILE, and once more in zstd,
 * FILE.zst, which `hack/build.sh` makes part of the executable.
 */
import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { argv } from "node:process"
import { constants, zstdCompressSync } from "node:zlib"
import { buildImageArchive } from "../../pkg/oci/archive.ts"
import type { ImageSource, LayerSource } from "../../pkg/oci/image.ts"
import type { TarEntry } from "../../pkg/oci/tar.ts"

/** A static busybox of Debian. */
export interface Busybox {
  readonly program: Buffer
  /** The paths of its commands, as `busybox --list-full` prints them. */
  readonly commands: readonly string[]
  /** Go's name of the processor. Defaults to this machine's. */
  readonly architecture?: string
}

/** Returns the busybox of this machine. */
export const hostBusybox = (path = "/bin/busybox"): Busybox => ({
  program: readFileSync(path),
  commands: execFileSync(path, ["--list-full"], { encoding: "utf8" }).trim().split("\n").sort(),
})

const PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/**
 * The first process of a container is not ended by a signal that it has no handler for, and httpd has none for SIGTERM:
 * without this script each pod would take its whole grace period to stop.
 */
const WEB_SCRIPT = `#!/bin/sh
trap 'exit 0' TERM INT
echo "$(cat /etc/web-version): serving /www on port \${PORT:-80}"
httpd -f -v -p "\${PORT:-80}" -h /www &
wait $!
`

/**
 * Gives wget the time limit that Debian's static busybox is built without: the seconds of `-T` or `--timeout` bound the
 * download as a whole, and the rest of the command line goes on to busybox as it is.
 */
export const WGET_SCRIPT = `#!/bin/sh
limit='' next=''
for word in "$@"; do
  shift
  if [ -n "$next" ]; then
    limit=$word next=''
    continue
  fi
  case $word in
    --timeout) next=1 ;;
    --timeout=*) limit=\${word#*=} ;;
    --*) set -- "$@" "$word" ;;
    -*T*)
      flags=\${word%%T*} rest=\${word#*T}
      case \${flags#-} in
        *[!cqS]*) set -- "$@" "$word" ;; # the T belongs to the value of another option
        *)
          [ "$flags" = - ] || set -- "$@" "$flags"
          if [ -n "$rest" ]; then limit=$rest; else next=1; fi
          ;;
      esac
      ;;
    *) set -- "$@" "$word" ;;
  esac
done
[ -n "$limit" ] || exec /bin/busybox wget "$@"
timeout -s INT "$limit" /bin/busybox wget "$@"
code=$?
[ "$code" = 130 ] || exit "$code"
echo 'wget: download timed out' >&2
exit 1
`

/** A shell and all of busybox's commands. */
export function busyboxImage(name = "k3ts.local/busybox:1", busybox = hostBusybox()): ImageSource {
  return {
    name,
    layers: [busyboxLayer(busybox)],
    config: { Env: [PATH], Cmd: ["sh"], WorkingDir: "/" },
    ...architectureOf(busybox),
  }
}

/**
 * A web server of the files in /www on port 80 (or $PORT). The first line of its log names `version`, which tells the
 * pods of two images apart in a rolling update.
 */
export function webImage(version = "1", name = `k3ts.local/web:${version}`, busybox = hostBusybox()): ImageSource {
  const layer: LayerSource = {
    files: [
      { type: "directory", path: "www" },
      file("www/index.html", `<h1>k3ts web ${version}</h1>\n`),
      file("etc/web-version", `web ${version}\n`),
      file("usr/bin/web", WEB_SCRIPT, 0o755),
    ],
  }
  return {
    name,
    layers: [busyboxLayer(busybox), layer],
    config: { Env: [PATH], Entrypoint: ["/usr/bin/web"], ExposedPorts: { "80/tcp": {} }, WorkingDir: "/www" },
    ...architectureOf(busybox),
  }
}

/** The images of manifests/examples, as the executable has them: in one archive. */
export const exampleArchive = (busybox = hostBusybox()): Uint8Array =>
  buildImageArchive(
    busyboxImage(undefined, busybox),
    webImage("1", undefined, busybox),
    webImage("2", undefined, busybox),
  )

/** Compresses an archive as far as zstd can without more memory for who unpacks it. */
export const compressed = (archive: Uint8Array): Uint8Array =>
  zstdCompressSync(archive, { params: { [constants.ZSTD_c_compressionLevel]: 19 } })

const architectureOf = ({ architecture }: Busybox) => (architecture === undefined ? {} : { architecture })

/**
 * Debian's busybox lets the option parser write the seconds of wget's `-T` through a null pointer, since it has no time
 * limits (FEATURE_WGET_TIMEOUT): each such call ended with SIGSEGV. With this option string of the same length the
 * seconds are skipped.
 */
const withoutWgetCrash = (busybox: Buffer): Buffer => patched(busybox, "T:+t:n::\0", "T:t:n:::\0")

/**
 * A shell runs busybox's commands itself rather than what is on the PATH; this one does not know wget, so that it runs
 * the script.
 */
const withoutWget = (busybox: Buffer): Buffer => patched(busybox, "\0wget\0which\0", "\0wgeT\0which\0")

/**
 * A copy in which the one place with the bytes of `from` has those of `to`, which are as many. Without such a place the
 * very bytes: another build needs no mending.
 */
function patched(bytes: Buffer, from: string, to: string): Buffer {
  const at = bytes.indexOf(from)
  if (at < 0 || bytes.indexOf(from, at + 1) >= 0) return bytes
  const copy = Buffer.from(bytes)
  copy.write(to, at, "latin1")
  return copy
}

/** Debian's busybox and links of all its commands, with the folders and the users that programs expect. */
export function busyboxLayer({ program, commands } = hostBusybox()): LayerSource {
  const busybox = withoutWgetCrash(program)
  const folders = new Set([
    "bin",
    "sbin",
    "usr",
    "usr/bin",
    "usr/sbin",
    "etc",
    "root",
    "home",
    "var",
    "var/log",
    "var/run",
    "proc",
    "sys",
    "dev",
    "mnt",
  ])
  const own = new Set(["bin/busybox", "bin/ash", "bin/sh", "usr/bin/wget"])
  const links = commands.filter((path) => !own.has(path) && /^(usr\/)?s?bin\/[^/]+$/.test(path))
  return {
    files: [
      ...[...folders].map((path): TarEntry => ({ type: "directory", path })),
      { type: "directory", path: "tmp", mode: 0o1777 },
      file(
        "etc/passwd",
        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\n" +
          "user:x:1000:1000:user:/home:/bin/sh\n",
      ),
      file("etc/group", "root:x:0:\nnogroup:x:65534:\nuser:x:1000:\n"),
      { type: "file", path: "bin/busybox", data: busybox, mode: 0o755 },
      { type: "file", path: "bin/ash", data: withoutWget(busybox), mode: 0o755 },
      { type: "symlink", path: "bin/sh", target: "/bin/ash" },
      ...links.map((path): TarEntry => ({ type: "symlink", path, target: "/bin/busybox" })),
      file("usr/bin/wget", WGET_SCRIPT, 0o755),
    ],
  }
}

/** A file with this text. */
export function file(path: string, text: string, mode = 0o644): TarEntry {
  return { type: "file", path, data: new TextEncoder().encode(text), mode }
}

if (import.meta.main) {
  const [target] = argv.slice(2)
  if (target === undefined) throw new Error("Cannot write images: expected the file to write as the only argument")
  const archive = exampleArchive()
  writeFileSync(target, archive)
  writeFileSync(`${target}.zst`, compressed(archive))
}
