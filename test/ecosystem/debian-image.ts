import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { hostBusybox } from "../../hack/images/images.ts"
import type { ImageSource } from "../../pkg/oci/image.ts"
import type { TarEntry } from "../../pkg/oci/tar.ts"

export interface DebianImage {
  readonly name: string
  /** A folder of unpacked Debian packages. */
  readonly root: string
  /** The user's name, number and home. */
  readonly user: { readonly name: string; readonly id: number; readonly home: string }
  /** Folders that belong to the user. */
  readonly writable: readonly string[]
}

/** Returns an image of a folder of Debian packages with busybox's shell, as the images of databases have one. */
export function debianImage({ name, root, user, writable }: DebianImage): ImageSource {
  const { program, commands } = hostBusybox()
  const own = new Set(filesOf(root).map(({ path }) => path))
  const text = (path: string, content: string): TarEntry => ({ type: "file", path, data: Buffer.from(content) })
  return {
    name,
    layers: [
      {
        files: [
          ...filesOf(root),
          { type: "file", path: "bin/busybox", data: program, mode: 0o755 },
          ...commands
            .map((path) => path.replace(/^usr\/s?bin\/|^s?bin\//, "bin/"))
            .filter((path, at, all) => path !== "bin/busybox" && !own.has(`usr/${path}`) && all.indexOf(path) === at)
            .map((path): TarEntry => ({ type: "symlink", path, target: "/bin/busybox" })),
          text(
            "etc/passwd",
            `root:x:0:0:root:/root:/bin/sh\n${user.name}:x:${user.id}:${user.id}::${user.home}:/bin/sh\n`,
          ),
          text("etc/group", `root:x:0:\n${user.name}:x:${user.id}:\n`),
          { type: "directory", path: "tmp", mode: 0o1777 },
          ...writable.map((path): TarEntry => ({ type: "directory", path, uid: user.id, gid: user.id })),
        ],
      },
    ],
    config: { Env: ["PATH=/usr/sbin:/usr/bin:/sbin:/bin"], Cmd: ["sh"] },
  }
}

/** The files of a folder, without documentation, in an order in which folders come before what is in them. */
function filesOf(root: string): readonly TarEntry[] {
  const listed = execFileSync("find", [".", "-mindepth", "1", "-printf", "%y %m %P\\t%l\\n"], {
    cwd: root,
    encoding: "utf8",
  })
  return listed
    .split("\n")
    .filter((line) => line !== "" && !/ usr\/share\/(doc|man|lintian|locale)/.test(line))
    .map((line): TarEntry => {
      const [, type, mode, path, target] = /^(.) (\d+) ([^\t]*)\t(.*)$/.exec(line)!
      if (type === "d") return { type: "directory", path: path! }
      if (type === "l") return { type: "symlink", path: path!, target: target! }
      return { type: "file", path: path!, data: readFileSync(join(root, path!)), mode: parseInt(mode!, 8) }
    })
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))
}
