/** Which parts `npm test` has. */
import { existsSync, readdirSync, statSync } from "node:fs"
import { join } from "node:path"
import type { Part } from "./part.ts"

const ROOMS = ["pkg", "components", "cmd", "hack"]
/** Folders of which each folder is a part, since together they would take longer than a part may, or than a lane should. */
const PARTED = ["components", "test/e2e"]
/** Parts that take long: started first, so that none of them is left to run when all others have ended. */
const LONGEST = ["test/deno", "test/hunt", "test/conformance"]
/** Folders with tests that use this machine as a node, by `describeOnNode` or with a containerd on its network. */
const NODE = ["test/e2e", "test/clients", "components/containerd"]
/** Those below them that make all they need: machines of their own, and servers without a node. */
const OWN_MACHINES = ["test/e2e/machines", "test/e2e/servers"]
/** Compares processes, mounts, interfaces and rules of the machine before and after. */
const ALONE = ["test/e2e/node/killall.test.ts"]

/**
 * Units wait on nothing real; other tests wait for servers and containers. The time limit ends a test that hangs, and
 * no other: on a busy machine what takes a second of the processor's time may take half a minute.
 */
const UNIT = { timeout: 60_000, limit: 600, needsBuild: false }
const WHOLE = { timeout: 120_000, limit: 900, needsBuild: true }

/** Returns every part, in the order in which they should start. */
export function everyPart(root: string): readonly Part[] {
  const folders = [...ROOMS, ...subfolders(root, "test"), ...testsIn(root, "test")]
  const rank = ({ name }: Part) => (LONGEST.includes(name) ? LONGEST.indexOf(name) : LONGEST.length)
  return folders.flatMap((folder) => partsOf(root, folder)).toSorted((a, b) => rank(a) - rank(b))
}

/** Returns the parts below a path, which somebody may have named with `./` before it or `/` behind it. */
export function partsOf(root: string, path: string): readonly Part[] {
  const name = path.replace(/^\.\//, "").replace(/\/$/, "")
  const alone = ALONE.filter((file) => file.startsWith(`${name}/`) && existsSync(join(root, file)))
  return [...foldersOf(root, name), ...alone].map(partOf)
}

/** Returns a folder or, if it is parted, its folders and the tests that lie directly in it. */
function foldersOf(root: string, folder: string): readonly string[] {
  if (!PARTED.includes(folder)) return hasTests(join(root, folder)) ? [folder] : []
  return [...subfolders(root, folder), ...testsIn(root, folder)]
}

function partOf(name: string): Part {
  const isWhole = /^test\/[^/]+(\/|$)/.test(name) && !/^test\/[^/]*\.test\.ts$/.test(name)
  const isIn = (folders: readonly string[]) => folders.some((folder) => `${name}/`.startsWith(`${folder}/`))
  return {
    name,
    paths: [`./${name}`],
    ...(isWhole ? WHOLE : UNIT),
    needsRoot: isIn(["test/e2e"]),
    beside: ALONE.includes(name) ? "nothing" : isIn(NODE) && !isIn(OWN_MACHINES) ? "no other node" : "all",
  }
}

/** What `bun test` leaves out, because it is a part of its own. */
export const leftOutOf = ({ name }: Part): readonly string[] => ALONE.filter((path) => path.startsWith(`${name}/`))

const subfolders = (root: string, folder: string): readonly string[] =>
  readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && hasTests(join(root, folder, entry.name)))
    .map(({ name }) => `${folder}/${name}`)
    .sort()

const testsIn = (root: string, folder: string): readonly string[] =>
  readdirSync(join(root, folder))
    .filter(isTest)
    .map((name) => `${folder}/${name}`)
    .sort()

/** Whether a folder has tests; what is no folder is left to `bun test`, which says so where there is nothing. */
function hasTests(path: string): boolean {
  if (!existsSync(path) || !statSync(path).isDirectory()) return true
  return readdirSync(path, { recursive: true, encoding: "utf8" }).some(isTest)
}

const isTest = (name: string): boolean => name.endsWith(".test.ts")

/** The number of files with tests in a part. */
export const filesOf = (root: string, { name }: Part): number =>
  statSync(join(root, name)).isDirectory()
    ? readdirSync(join(root, name), { recursive: true, encoding: "utf8" }).filter(isTest).length
    : 1
