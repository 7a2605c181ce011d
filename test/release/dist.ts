import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { run } from "../../pkg/process/run.ts"

export const root = join(import.meta.dirname, "../..")
/** Where `npm run release` puts its files; hack/test-release.sh runs it before these tests. */
export const RELEASE = join(root, "dist/release")
export const { version: VERSION } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { version: string }

/** A folder that is removed at the end. */
export class Scratch {
  readonly path: string

  constructor() {
    this.path = mkdtempSync(join(tmpdir(), "k3ts-release-test-"))
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true })
  }
}

/** The path of a file of the release. @throws Error where it was not made */
export function released(name: string): string {
  const path = join(RELEASE, name)
  if (!existsSync(path)) throw new Error(`dist/release has no ${name} but ${readdirSync(RELEASE).join(", ")}`)
  return path
}

/** Unpacks the layers of the container image for a processor into a folder. */
export async function unpackImage(architecture: "amd64" | "arm64", folder: string): Promise<void> {
  const archive = released(`k3ts-${VERSION}-${architecture}.oci.tar`)
  const list = await run("tar", ["-xOf", archive, "manifest.json"])
  const [image] = JSON.parse(list) as [{ readonly Layers: readonly string[] }]
  for (const layer of image.Layers)
    await run("sh", ["-c", 'tar -xOf "$1" "$2" | tar -xzf - -C "$3"', "sh", archive, layer, folder])
}
