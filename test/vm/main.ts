import { createHash } from "node:crypto"
import { cp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { homedir } from "node:os"
import { join, relative } from "node:path"
import { run } from "../../pkg/process/run.ts"
import { errorMessage } from "../../pkg/errors/error-message.ts"
import { debian, lacking, PLAIN, withSystemd, type MachineImages } from "./debian.ts"
import { copyDisks, Machine, makeDisks, type MachineOptions } from "./machine.ts"
import { firstApplication, MEMORY } from "./pieces/first-application.ts"
import type { Piece } from "./pieces/piece.ts"
import { PIECES } from "./pieces/pieces.ts"
import { Steps, withFolder } from "./steps.ts"

/**
 * `npm run test:vm [-- NAME…]` runs tests that need a kernel or a systemd of their own, in a Debian in a virtual machine:
 * the pieces of pieces.ts by their names, or files of `bun test` by their paths; by default all. Downloads and machines
 * are kept in `K3TS_VM_CACHE`, by default ~/.cache/k3ts-vm. `K3TS_VM_PATIENCE=10` stretches every bound by that, for a
 * host that is busy with other things.
 */
const FILES_OF_TESTS = [
  "test/network/across-nodes.test.ts",
  "components/local-storage/project-quota.test.ts",
  "components/kubelet/runtime/cri/volumes/block-devices.test.ts",
]
/** What tests import, besides the packages that the program needs. */
const IMPORTED = ["cmd", "components", "pkg", "test/harness", "test/network", "package.json", "tsconfig.json"]
/** In an emulated machine Bun alone takes ten seconds to start, and some tests start eight. */
const TEST_TIMEOUT_MS = 600_000
const TESTS_TIMEOUT_MS = 15 * 60_000

const cache = process.env["K3TS_VM_CACHE"] ?? join(homedir(), ".cache/k3ts-vm")
const root = join(import.meta.dir, "../..")

const missing = lacking()
if (missing !== undefined) {
  console.error(`SKIPPED: ${missing}`)
  process.exit(2)
}
const wanted = process.argv.slice(2)
const unknown = wanted.filter((name) => !(name in PIECES) && !name.includes("/"))
if (unknown.length > 0) {
  console.error(`error: ${unknown.join(", ")}: must be a path of a test, or one of ${Object.keys(PIECES).join(", ")}`)
  process.exit(2)
}
const names = wanted.length > 0 ? wanted : [...FILES_OF_TESTS, ...Object.keys(PIECES)]
const paths = names.filter((name) => name.includes("/"))
const failed: string[] = []
if (paths.length > 0) await attempt("bun test", () => runTests(paths))
for (const name of names) {
  const piece = PIECES[name]
  if (piece !== undefined) await attempt(name, () => runPiece(piece))
}
if (failed.length > 0) console.error(`FAILED: ${failed.join(", ")}`)
process.exitCode = failed.length > 0 ? 1 : 0

async function attempt(name: string, test: () => Promise<void>): Promise<void> {
  const began = performance.now()
  console.log(`${name}:`)
  try {
    await test()
    console.log(`${name}: passed in ${Math.round((performance.now() - began) / 1000)} s`)
  } catch (err) {
    failed.push(name)
    console.error(`${name}: FAILED: ${errorMessage(err)}`)
  }
}

/** Runs files of `bun test` in a machine without systemd. */
async function runTests(files: readonly string[]): Promise<void> {
  const images = await debian(cache, PLAIN)
  await withFolder(async (scratch) => {
    const [state, folder] = [join(scratch, "state"), join(scratch, "folder")]
    const packages = (await run("npm", ["ls", "--prefix", root, "--omit=dev", "--all", "--parseable"]))
      .split("\n")
      .filter((path) => path.includes("/node_modules/"))
      .map((path) => relative(root, path))
    for (const file of [...IMPORTED, ...packages]) await cp(join(root, file), join(folder, file), { recursive: true })
    await makeDisks(state, images.root, folder)
    await using machine = await Machine.start({ images, state })
    await machine.up(TEST_TIMEOUT_MS)
    const { exitCode, output } = await machine.run(
      `modprobe -a loop xfs quota_v2 bridge br_netfilter veth vxlan wireguard
NO_COLOR=1 node_modules/bun/bin/bun.exe test --timeout ${TEST_TIMEOUT_MS} ${files.map((file) => `./${file}`).join(" ")}`,
      TESTS_TIMEOUT_MS,
    )
    console.log(output)
    if (exitCode !== 0) throw new Error(`exit code ${exitCode}`)
  })
}

async function runPiece({ debian: name, shows, services, run: runSteps }: Piece): Promise<void> {
  console.log(`    ${shows}`)
  const images = await debian(cache, withSystemd(name))
  await withFolder(async (state) => {
    const options = services === "none" ? await newMachine(images, state) : await servingMachine(name, images, state)
    await using steps = await Steps.begin({ ...options, services: services ?? "systemd" })
    await runSteps(steps)
  })
}

/** A machine with the package of dist/release in its folder. */
async function newMachine(images: MachineImages, state: string): Promise<MachineOptions> {
  await withFolder(async (folder) => {
    await repack(await releasedPackage(), join(folder, "k3ts.deb"), "")
    await makeDisks(state, images.root, folder)
  })
  return { images, state }
}

/** A machine where that package is installed and serves the first application. */
async function servingMachine(name: Piece["debian"], images: MachineImages, state: string): Promise<MachineOptions> {
  const base = await baseOf(name, images)
  await copyDisks(base, state)
  return { images, state, memory: join(base, MEMORY) }
}

async function releasedPackage(): Promise<string> {
  const release = join(root, "dist/release")
  const name = (await readdir(release).catch(() => [])).find((one) => one.endsWith("_amd64.deb"))
  if (name === undefined) throw new Error("dist/release has no package for amd64; run: npm run release")
  return join(release, name)
}

/** The machine of which others are continued, which is made once for each package. */
async function baseOf(debianName: Piece["debian"], images: MachineImages): Promise<string> {
  const released = await releasedPackage()
  const digest = createHash("sha256")
    .update(await readFile(released))
    .digest("hex")
    .slice(0, 12)
  const base = `first-application-${digest}`
  for (const old of await readdir(join(cache, debianName)))
    if (old.startsWith("first-application-") && old !== base)
      await rm(join(cache, debianName, old), { recursive: true })
  return withFolder(async (folder) => {
    await repack(released, join(folder, "k3ts.deb"), "")
    await repack(released, join(folder, "newer.deb"), "+newer")
    return firstApplication(images, join(cache, debianName, base), folder)
  })
}

/**
 * Makes a package with the same content and `suffix` at the end of its version, and without compression: an emulated
 * processor takes minutes to decompress the executable.
 */
async function repack(from: string, to: string, suffix: string): Promise<void> {
  await withFolder(async (scratch) => {
    await run("dpkg-deb", ["--raw-extract", from, scratch])
    const control = join(scratch, "DEBIAN/control")
    const text = await readFile(control, "utf8")
    await writeFile(
      control,
      text.replace(/^Version: .*$/m, (line) => `${line}${suffix}`),
    )
    await run("dpkg-deb", ["--root-owner-group", "-Znone", "--build", scratch, to])
  })
}
