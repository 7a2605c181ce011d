import { mkdtemp, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { run } from "../../pkg/process/run.ts"
import { CHECKSUMS } from "./checksums.ts"

/**
 * Makes the release of the same commit again, in a fresh clone in another folder, with another time zone, language and
 * umask. Returns the names of the files that differ, or that one of both has not.
 */
export async function differencesOfSecondBuild(root: string, commit: string, output: string): Promise<string[]> {
  const folder = await mkdtemp(join(tmpdir(), "k3ts-release-verify-"))
  try {
    const clone = join(folder, "a folder with another name")
    await run("git", ["clone", "--quiet", "--no-checkout", root, clone])
    await run("git", ["-C", clone, "checkout", "--quiet", "--detach", commit])
    await run("bash", [
      "-c",
      'umask 077; cd "$1" && TZ=Asia/Kathmandu LC_ALL=C exec bash hack/release.sh',
      "bash",
      clone,
    ])
    return differences(
      await readFile(join(output, CHECKSUMS), "utf8"),
      await readFile(join(clone, "dist/release", CHECKSUMS), "utf8"),
    )
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Returns the names of files whose lines differ between two SHA256SUMS, in their order. */
export function differences(one: string, other: string): string[] {
  const digests = (sums: string) =>
    new Map(
      sums
        .trim()
        .split("\n")
        .map((line) => [line.slice(66), line.slice(0, 64)] as const),
    )
  const [first, second] = [digests(one), digests(other)]
  return [...new Set([...first.keys(), ...second.keys()])].filter((name) => first.get(name) !== second.get(name)).sort()
}
