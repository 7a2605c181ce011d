import { readdirSync, readFileSync } from "node:fs"
import { readFile, writeFile } from "node:fs/promises"
import { basename, dirname, join, relative } from "node:path"
import { buildImageArchive, buildMultiPlatformArchive } from "../../pkg/oci/archive.ts"
import type { ImageSource } from "../../pkg/oci/image.ts"
import type { TarEntry } from "../../pkg/oci/tar.ts"
import { file } from "../images/images.ts"
import { LICENSES } from "./licenses.ts"
import { LIBC } from "./pinned.ts"
import { releaseDate, type Maker, type Release } from "./release.ts"
import { ARCHITECTURES, type Architecture } from "./architectures.ts"

/** Where Debian has the C library of a processor, and by which path programs for it name their loader. */
const LAYOUT: Readonly<Record<Architecture, { readonly folder: string; readonly loader: string }>> = {
  amd64: { folder: "lib/x86_64-linux-gnu", loader: "lib64/ld-linux-x86-64.so.2" },
  arm64: { folder: "lib/aarch64-linux-gnu", loader: "lib/ld-linux-aarch64.so.1" },
}

/** The libraries that the executable names, and the one with the functions of the resolver. */
const LIBRARIES = /^(ld-linux-[\w-]+\.so\.\d|lib(c|m|dl|pthread|resolv)\.so\.\d+)$/

/**
 * Makes k3ts a container image, for clusters without a node of their own: an archive for each processor, and one for
 * both. It holds the executable and the C library, no shell and no other program.
 */
export const makeImage: Maker = async (release, { debian }) => {
  const { version, scratch, output } = release
  const sources: ImageSource[] = []
  const names: string[] = []
  for (const architecture of ARCHITECTURES) {
    const libc = join(scratch, "libc", architecture)
    await debian.unpack(LIBC, architecture, libc)
    const source = await imageSource(release, architecture, libc)
    const name = `k3ts-${version}-${architecture}.oci.tar`
    await writeFile(join(output, name), buildImageArchive(source))
    sources.push(source)
    names.push(name)
  }
  const name = `k3ts-${version}.oci.tar`
  await writeFile(join(output, name), buildMultiPlatformArchive(sources))
  return [...names, name]
}

async function imageSource(release: Release, architecture: Architecture, libc: string): Promise<ImageSource> {
  const { version, commit, output, executables } = release
  const own: readonly TarEntry[] = [
    ...["etc", "usr", "usr/bin", "usr/share", "usr/share/doc", "usr/share/doc/k3ts", "var", "var/lib"].map(
      (path): TarEntry => ({ type: "directory", path }),
    ),
    { type: "directory", path: "tmp", mode: 0o1777 },
    file("etc/passwd", "root:x:0:0:root:/:/usr/bin/k3ts\nnobody:x:65534:65534:nobody:/:/usr/bin/k3ts\n"),
    file("etc/group", "root:x:0:\nnogroup:x:65534:\n"),
    file("etc/nsswitch.conf", "hosts: files dns\n"),
    file(`usr/share/doc/k3ts/${LICENSES}`, await readFile(join(output, LICENSES), "utf8")),
    { type: "file", path: "usr/bin/k3ts", data: await readFile(executables[architecture]), mode: 0o755 },
  ]
  return {
    name: `k3ts.local/k3ts:${version}`,
    architecture,
    created: releaseDate(release),
    layers: [
      { files: libraries(architecture, libc), gzip: true },
      { files: own, gzip: true },
    ],
    config: {
      Env: ["PATH=/usr/bin"],
      Entrypoint: ["/usr/bin/k3ts"],
      Cmd: ["server", "--disable-agent"],
      ExposedPorts: { "6443/tcp": {} },
      WorkingDir: "/",
      Labels: {
        "org.opencontainers.image.title": "k3ts",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.revision": commit,
        "org.opencontainers.image.licenses": "Apache-2.0",
      },
    },
  }
}

function libraries(architecture: Architecture, libc: string): readonly TarEntry[] {
  const { folder, loader } = LAYOUT[architecture]
  const names = readdirSync(join(libc, folder)).filter((name) => LIBRARIES.test(name))
  const folders = new Set(["lib", folder, dirname(loader)])
  return [
    ...[...folders].sort().map((path): TarEntry => ({ type: "directory", path })),
    ...names.sort().map((name): TarEntry => {
      const data = readFileSync(join(libc, folder, name))
      return { type: "file", path: `${folder}/${name}`, data, mode: 0o755 }
    }),
    // Relative, so that it leads to the same in a folder that the image is unpacked in.
    { type: "symlink", path: loader, target: relative(dirname(loader), join(folder, basename(loader))) },
  ]
}
