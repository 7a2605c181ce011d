import { cp, mkdir, mkdtemp, rm } from "node:fs/promises"
import { homedir, tmpdir } from "node:os"
import { join } from "node:path"
import { debian, lacking } from "./debian.ts"
import { runInMachine } from "./machine.ts"

/**
 * `npm run test:vm [-- PATH…]` runs tests that need a kernel of their own, in a Debian in a virtual machine. Downloads
 * are kept in `K3TS_VM_CACHE`, by default ~/.cache/k3ts-vm.
 */
const TESTS = [
  "components/local-storage/project-quota.test.ts",
  "components/kubelet/runtime/cri/volumes/block-devices.test.ts",
]
/** The files that the tests import, and the runtime. */
const FILES = ["components", "pkg", "package.json", "tsconfig.json", "node_modules/bun"]
/** In an emulated machine Bun alone takes ten seconds to start. */
const TEST_TIMEOUT_MS = 120_000
const TIMEOUT_MS = 15 * 60_000

const missing = lacking()
if (missing !== undefined) {
  console.error(`SKIPPED: ${missing}`)
  process.exit(2)
}
const paths = process.argv.slice(2)
const folder = await mkdtemp(join(tmpdir(), "k3ts-vm-folder-"))
try {
  const images = await debian(process.env["K3TS_VM_CACHE"] ?? join(homedir(), ".cache/k3ts-vm"))
  await mkdir(join(folder, "node_modules"))
  for (const file of FILES) await cp(join(import.meta.dir, "../..", file), join(folder, file), { recursive: true })
  const tests = (paths.length > 0 ? paths : TESTS).map((path) => `./${path}`).join(" ")
  const {
    exitCode,
    output,
    console: kernel,
  } = await runInMachine(images, {
    folder,
    command: `modprobe -a loop xfs quota_v2; NO_COLOR=1 node_modules/bun/bin/bun.exe test --timeout ${TEST_TIMEOUT_MS} ${tests}`,
    timeoutMs: TIMEOUT_MS,
  })
  process.stdout.write(output)
  if (exitCode === undefined) console.error(`The machine ended before the tests did:\n${kernel.slice(-4000)}`)
  process.exitCode = exitCode ?? 1
} finally {
  await rm(folder, { recursive: true, force: true })
}
