import { expect, test } from "bun:test"
import { existsSync, readFileSync } from "node:fs"
import { join, resolve } from "node:path"

const ROOT = resolve(import.meta.dirname, "../..")

/** The files that the steps of a walk in architecture.md begin with. */
function walkUnder(heading: string): readonly string[] {
  const page = readFileSync(join(ROOT, "docs/architecture.md"), "utf8")
  const section = page.split(`### ${heading}\n`)[1]!.split(/\n##+ /)[0]!
  return Array.from(section.matchAll(/^\d+\. `([^`]+)`/gm), ([, path]) => path!)
}

/** The files of a walk as they are entered while a program runs. */
async function entered(program: string, files: readonly string[]): Promise<readonly string[]> {
  const preload = ["--preload", join(import.meta.dirname, "record.ts")]
  const child = Bun.spawn([process.execPath, ...preload, join(import.meta.dirname, program)], {
    env: { ...process.env, WALK_FILES: files.join(" ") },
    stdout: "pipe",
    stderr: "inherit",
  })
  return JSON.parse(await new Response(child.stdout).text()) as readonly string[]
}

test.each([
  { heading: "A create, from the socket to the disk and back", program: "create.ts", least: 25 },
  { heading: "A pod, from the informer to the running container", program: "pod.ts", least: 20 },
])("the walk in architecture.md is what is passed: $heading", async ({ heading, program, least }) => {
  // given the files that the page names, each once
  const files = walkUnder(heading)
  expect(files.length).toBeGreaterThanOrEqual(least)
  expect(files.filter((path, i) => files.indexOf(path) !== i || !existsSync(join(ROOT, path)))).toEqual([])
  // when
  const passed = await entered(program, files)
  // then they are entered in that order; some of them again later, when what they wait for is done
  let at = -1
  const inOrder = files.filter((path) => {
    const next = passed.indexOf(path, at + 1)
    if (next >= 0) at = next
    return next >= 0
  })
  expect(inOrder).toEqual([...files])
})
