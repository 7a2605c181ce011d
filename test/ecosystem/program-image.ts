import { readFileSync } from "node:fs"
import type { ImageSource } from "../../pkg/oci/image.ts"

export interface ProgramImage {
  /** The name that the program's manifests use. */
  readonly name: string
  /** The path of a static program, which is /bin/`as` of the image and its entrypoint. */
  readonly program: string
  readonly as: string
  /** As in a Dockerfile; root by default. */
  readonly user?: string
  /** More links to the program. */
  readonly links?: readonly string[]
}

/** Returns an image of one static program: no shell, as most operators' images are. */
export function programImage({ name, program, as, user, links = [] }: ProgramImage): ImageSource {
  const text = (path: string, content: string) => ({ type: "file", path, data: Buffer.from(content) }) as const
  return {
    name,
    layers: [
      {
        files: [
          { type: "directory", path: "bin" },
          { type: "file", path: `bin/${as}`, data: readFileSync(program), mode: 0o755 },
          ...links.map((path) => ({ type: "symlink", path, target: `/bin/${as}` }) as const),
          { type: "directory", path: "etc" },
          text("etc/passwd", "root:x:0:0:root:/root:/sbin/nologin\nnobody:x:65534:65534:nobody:/:/sbin/nologin\n"),
          text("etc/group", "root:x:0:\nnobody:x:65534:\n"),
          { type: "directory", path: "tmp", mode: 0o1777 },
        ],
      },
    ],
    config: {
      Env: ["PATH=/usr/local/bin:/usr/bin:/bin"],
      Entrypoint: [`/bin/${as}`],
      ...(user === undefined ? {} : { User: user }),
    },
  }
}
