/**
 * The container images of manifests/examples and of the tests, made of Debian's busybox-static alone, so that no registry is
 * asked for them. `bun hack/images.ts FILE` writes them all into one archive; `hack/start.sh` lays that where k3ts imports it.
 */
import { execFileSync } from "node:child_process"
import { readFileSync, writeFileSync } from "node:fs"
import { argv } from "node:process"
import { buildImageArchive } from "../pkg/oci/archive.ts"
import type { ImageSource, LayerSource } from "../pkg/oci/image.ts"
import type { TarEntry } from "../pkg/oci/tar.ts"

const BUSYBOX = "/bin/busybox"
const PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

/**
 * The first process of a container is not ended by a signal that it has no handler for, and httpd has none for SIGTERM: without
 * this script each pod would take its whole grace period to stop.
 */
const WEB_SCRIPT = `#!/bin/sh
trap 'exit 0' TERM INT
echo "$(cat /etc/web-version): serving /www on port \${PORT:-80}"
httpd -f -v -p "\${PORT:-80}" -h /www &
wait $!
`

/** A shell and all of busybox's commands. */
export function busyboxImage(name = "k3ts.local/busybox:1"): ImageSource {
  return { name, layers: [busyboxLayer()], config: { Env: [PATH], Cmd: ["sh"], WorkingDir: "/" } }
}

/**
 * A web server of the files in /www on port 80 (or $PORT). The first line of its log names `version`, which tells the pods of
 * two images apart in a rolling update.
 */
export function webImage(version = "1", name = `k3ts.local/web:${version}`): ImageSource {
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
    layers: [busyboxLayer(), layer],
    config: { Env: [PATH], Entrypoint: ["/usr/bin/web"], ExposedPorts: { "80/tcp": {} }, WorkingDir: "/www" },
  }
}

function busyboxLayer(): LayerSource {
  const commands = execFileSync(BUSYBOX, ["--list-full"], { encoding: "utf8" }).trim().split("\n").sort()
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
  const links = commands.filter((path) => path !== "bin/busybox" && /^(usr\/)?s?bin\/[^/]+$/.test(path))
  return {
    files: [
      ...[...folders].map((path): TarEntry => ({ type: "directory", path })),
      { type: "directory", path: "tmp", mode: 0o1777 },
      file(
        "etc/passwd",
        "root:x:0:0:root:/root:/bin/sh\nnobody:x:65534:65534:nobody:/:/bin/false\nuser:x:1000:1000:user:/home:/bin/sh\n",
      ),
      file("etc/group", "root:x:0:\nnogroup:x:65534:\nuser:x:1000:\n"),
      { type: "file", path: "bin/busybox", data: readFileSync(BUSYBOX), mode: 0o755 },
      ...links.map((path): TarEntry => ({ type: "symlink", path, target: "/bin/busybox" })),
    ],
  }
}

function file(path: string, text: string, mode = 0o644): TarEntry {
  return { type: "file", path, data: new TextEncoder().encode(text), mode }
}

if (import.meta.main) {
  const [target] = argv.slice(2)
  if (target === undefined) throw new Error("Cannot write images: expected the file to write as the only argument")
  writeFileSync(target, buildImageArchive(busyboxImage(), webImage("1"), webImage("2")))
}
