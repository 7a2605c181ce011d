import { afterAll, beforeAll, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { LICENSES } from "../licenses.ts"
import { makeDebianPackages } from "./package.ts"

const hasDpkg = Bun.which("dpkg-deb") !== null
if (!hasDpkg) console.warn("SKIPPED: the tests of Debian's packages need dpkg-deb: apt-get install dpkg")

const root = join(import.meta.dirname, "../../..")
let scratch: string
beforeAll(() => void (scratch = mkdtempSync(join(tmpdir(), "k3ts-deb-"))))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

/** Makes the packages of executables that are two lines of text. Returns the path of the one for amd64. */
async function make(name: string): Promise<string> {
  const folder = join(scratch, name)
  for (const one of ["scratch", "output"]) mkdirSync(join(folder, one), { recursive: true })
  const executables = { amd64: join(folder, "amd64"), arm64: join(folder, "arm64") }
  for (const path of Object.values(executables)) writeFileSync(path, "#!/bin/sh\nexit 0\n")
  const output = join(folder, "output")
  writeFileSync(join(output, LICENSES), "The licences.\n")
  const [first] = await makeDebianPackages({
    version: "1.2.3",
    commit: "c".repeat(40),
    epoch: 1_700_000_000,
    root,
    executables,
    scratch: join(folder, "scratch"),
    output,
  })
  return join(output, first!)
}

const dpkgDeb = (...args: readonly string[]): string => spawnSync("dpkg-deb", args, { encoding: "utf8" }).stdout

test.skipIf(!hasDpkg)("a package has the same bytes in another folder and under another umask", async () => {
  const one = await make("one")
  const mask = process.umask(0o077)
  const other = await make("another").finally(() => process.umask(mask))
  expect(Buffer.compare(readFileSync(one), readFileSync(other))).toBe(0)
})

test.skipIf(!hasDpkg)("every file in a package belongs to root, and only root can write it", async () => {
  const lines = dpkgDeb("--contents", await make("owners"))
    .trim()
    .split("\n")
  expect(lines.length).toBeGreaterThan(30)
  expect(lines.filter((line) => !/^(drwxr-xr-x|-rwxr-xr-x|-rw-r--r--) root\/root /.test(line))).toEqual([])
  expect(lines.filter((line) => line.startsWith("-rwx")).map((line) => line.split(" ").at(-1))).toEqual([
    "./usr/bin/k3ts",
  ])
})

test.skipIf(!hasDpkg)(
  "the config file is a conffile, which an upgrade does not overwrite, and sets nothing",
  async () => {
    const path = await make("conffile")
    expect(dpkgDeb("--info", path, "conffiles")).toBe("/etc/k3ts/config.yaml\n")
    const settings = readFileSync(join(import.meta.dirname, "config.yaml"), "utf8")
    expect(settings.split("\n").filter((line) => line !== "" && !line.startsWith("#"))).toEqual([])
  },
)

test.skipIf(!hasDpkg)("the metadata of a package is that of the release", async () => {
  const path = await make("control")
  expect(path).toEndWith("k3ts_1.2.3-1_amd64.deb")
  expect(dpkgDeb("--field", path, "Version", "Architecture")).toBe("Version: 1.2.3-1\nArchitecture: amd64\n")
})

test("a removal asks k3ts for the folders of its data, with the service's environment, whatever else that file contains", () => {
  // given the script of a machine whose root is a folder
  const machine = join(scratch, "machine")
  for (const folder of ["etc/default", "usr/bin", "var/lib"]) mkdirSync(join(machine, folder), { recursive: true })
  const script = readFileSync(join(import.meta.dirname, "prerm"), "utf8").replaceAll(
    /\/(?=(?:etc|usr|var|run)\/)/g,
    `${machine}/`,
  )
  const k3ts = join(machine, "usr/bin/k3ts")
  writeFileSync(k3ts, '#!/bin/sh\necho "$K3TS_DATA_DIR|$K3TS_NODE_NAME"\n')
  chmodSync(k3ts, 0o755)
  // and another k3ts, which the PATH of who calls apt leads to
  const other = join(machine, "other")
  mkdirSync(other)
  writeFileSync(join(other, "k3ts"), "#!/bin/sh\necho /wrong\n", { mode: 0o755 })
  // The last line has no end.
  writeFileSync(
    join(machine, "etc/default/k3ts"),
    '# proxies\nK3TS_NO NAME=1\nHTTPS_PROXY=a b\nK3TS_DATA_DIR="/srv/my data"\nK3TS_NODE_NAME=one',
  )
  // when
  const { status, stderr } = spawnSync("sh", ["-s", "remove"], {
    input: script.slice(script.indexOf("\n")),
    env: { PATH: `${other}:${process.env.PATH}` },
    encoding: "utf8",
  })
  // then
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" })
  expect(readFileSync(join(machine, "var/lib/k3ts/.purge"), "utf8")).toBe("/srv/my data|one\n")
})

test("an installation links kubectl where there is none, and a removal removes that link and no other", () => {
  // given the scripts of a machine whose root is a folder, with programs that do nothing
  const machine = join(scratch, "links")
  for (const folder of ["etc/default", "usr/bin", "var/lib"]) mkdirSync(join(machine, folder), { recursive: true })
  for (const name of ["k3ts", "deb-systemd-helper"])
    writeFileSync(join(machine, "usr/bin", name), "#!/bin/sh\n", { mode: 0o755 })
  for (const name of ["ln", "rm", "readlink", "mkdir"]) symlinkSync(Bun.which(name)!, join(machine, "usr/bin", name))
  const link = join(machine, "usr/bin/kubectl")
  const run = (name: string, ...args: readonly string[]) =>
    spawnSync("/bin/sh", ["-s", ...args], {
      input: readFileSync(join(import.meta.dirname, name), "utf8")
        .replace("PATH=/usr/sbin:/usr/bin:/sbin:/bin", "")
        .replaceAll(/\/(?=(?:etc|usr|var|run)\/)/g, `${machine}/`),
      env: { PATH: join(machine, "usr/bin") },
      encoding: "utf8",
    }).status
  // when, then
  expect(run("postinst", "configure")).toBe(0)
  expect(readlinkSync(link)).toBe("k3ts")
  expect(run("prerm", "upgrade")).toBe(0)
  expect(readlinkSync(link)).toBe("k3ts")
  expect(run("prerm", "remove")).toBe(0)
  expect(existsSync(link)).toBe(false)
  // and given a kubectl of another package
  writeFileSync(link, "#!/bin/sh\n", { mode: 0o755 })
  expect(run("postinst", "configure")).toBe(0)
  expect(run("prerm", "remove")).toBe(0)
  expect(readFileSync(link, "utf8")).toBe("#!/bin/sh\n")
})
