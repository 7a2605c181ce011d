import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { spawnSync } from "node:child_process"
import { createHash } from "node:crypto"
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { EXECUTABLE, NAMES, newMachine, SCRIPT, toolsWithout, type Machine } from "./install.fixtures.ts"

const isRoot = process.getuid?.() === 0
if (!isRoot) console.warn("SKIPPED: the tests of install.sh need root, for the owner of what it writes")

let scratch: string
beforeAll(() => void (scratch = mkdtempSync(join(tmpdir(), "k3ts-install-"))))
afterAll(() => rmSync(scratch, { recursive: true, force: true }))

const machine = () => newMachine(scratch)
const modeOf = (path: string): string => (statSync(path).mode & 0o777).toString(8)

describe.skipIf(!isRoot)("install.sh", () => {
  test("installs the executable and a service with the flags that it is given", async () => {
    const { bin, units, install, calls } = machine()
    const { code, output } = await install({ INSTALL_K3TS_EXEC: "server --disable traefik" }, [
      "--node-label",
      'a="b c"%$d',
    ])
    expect({ code, output }).toMatchObject({ code: 0 })
    expect(readFileSync(join(bin, "k3ts"), "utf8")).toBe(EXECUTABLE)
    expect(readFileSync(join(units, "k3ts.service"), "utf8")).toContain(
      `ExecStart=${bin}/k3ts server "--disable" "traefik" "--node-label" "a=\\"b c\\"%%$$d"\n`,
    )
    expect(calls()).toContain("enable k3ts")
  })

  test("writes the same unit as the Debian package, except for paths and documentation", async () => {
    const { units, install } = machine()
    await install()
    const settings = (text: string) =>
      text
        .split("\n")
        .filter((line) => /^[A-Z[]/.test(line) && !/^(EnvironmentFile|ExecStart|Documentation)=/.test(line))
    expect(settings(readFileSync(join(units, "k3ts.service"), "utf8"))).toEqual(
      settings(readFileSync(join(import.meta.dirname, "debian/k3ts.service"), "utf8")),
    )
  })

  test("keeps variables for the service in a file that only root can read", async () => {
    const { units, install } = machine()
    const value = "a \"quoted\" $HOME `id` \\ 'text' %n"
    await install({ K3TS_NODE_NAME: value, HTTPS_PROXY: "http://user:secret@proxy:3128", OTHER: "x" })
    const file = join(units, "k3ts.service.env")
    expect(modeOf(file)).toBe("600")
    const read = spawnSync("sh", ["-c", `. ${file}; printf %s "$K3TS_NODE_NAME|$HTTPS_PROXY|$OTHER"`], {
      encoding: "utf8",
      env: {},
    })
    expect(read.stdout).toBe(`${value}|http://user:secret@proxy:3128|`)
  })

  test.each([
    {
      title: "a changed executable",
      prepare: ({ release }: Machine) =>
        NAMES.forEach((name) => writeFileSync(join(release, name), "#!/bin/sh\nevil\n")),
      env: {},
      says: "has the wrong content",
    },
    {
      title: "half an executable",
      prepare: ({ release }: Machine) =>
        NAMES.forEach((name) => writeFileSync(join(release, name), EXECUTABLE.slice(0, 20))),
      env: {},
      says: "has the wrong content",
    },
    {
      title: "SHA256SUMS without the executable",
      prepare: ({ release }: Machine) => writeFileSync(join(release, "SHA256SUMS"), `${"0".repeat(64)}  other\n`),
      env: {},
      says: "names no one digest",
    },
    {
      title: "SHA256SUMS with two digests of the executable",
      prepare: ({ release }: Machine) => {
        const sums = readFileSync(join(release, "SHA256SUMS"), "utf8")
        writeFileSync(join(release, "SHA256SUMS"), sums.replaceAll(/^[0-9a-f]+/gm, "0".repeat(64)) + sums)
      },
      env: {},
      says: "names no one digest",
    },
    {
      title: "an executable whose digest is not the requested one",
      prepare: () => undefined,
      env: { INSTALL_K3TS_SHA256: "0".repeat(64) },
      says: "has the wrong content",
    },
    {
      title: "a version other than the requested one",
      prepare: () => undefined,
      env: { INSTALL_K3TS_VERSION: "v1.2.4" },
      says: "INSTALL_K3TS_VERSION asks for 1.2.4",
    },
    {
      title: "a URL without TLS",
      prepare: () => undefined,
      env: { INSTALL_K3TS_URL: "http://127.0.0.1:1/release" },
      says: "could be changed on its way",
    },
    {
      title: "a service name with slashes",
      prepare: () => undefined,
      env: { INSTALL_K3TS_NAME: "../../etc/x" },
      says: "INSTALL_K3TS_NAME",
    },
    {
      title: "a folder name with shell syntax",
      prepare: () => undefined,
      env: { INSTALL_K3TS_SYSTEMD_DIR: "/tmp/$(id)" },
      says: "must be an absolute path",
    },
    {
      title: "the agent command",
      prepare: () => undefined,
      env: { INSTALL_K3TS_EXEC: "agent" },
      says: "k3ts has no agents",
    },
    {
      title: "a flag with a line break",
      prepare: () => undefined,
      env: {},
      args: ["--node-name=a\nExecStartPre=/bin/evil"],
      says: "line break",
    },
  ])("refuses $title and changes nothing", async ({ prepare, env, args, says }) => {
    // given a machine with an older k3ts
    const one = machine()
    writeFileSync(join(one.bin, "k3ts"), "older")
    prepare(one)
    // when
    const { code, output } = await one.install(env as Record<string, string>, args)
    // then
    expect(code).toBe(1)
    expect(output).toContain(says)
    expect(readdirSync(one.bin)).toEqual(["k3ts"])
    expect(readFileSync(join(one.bin, "k3ts"), "utf8")).toBe("older")
    expect(readdirSync(one.units)).toEqual([])
  })

  test("reads nothing from the current folder when it is piped into sh", async () => {
    const { bin, install } = machine()
    const { code, output } = await install({}, [], readFileSync(SCRIPT, "utf8"))
    expect(code).toBe(1)
    expect(output).toContain("nothing says where k3ts is")
    expect(readdirSync(bin)).toEqual([])
  })

  test.each([0.2, 0.5, 0.8, 0.99])("does nothing when only %d of it arrived through a pipe", async (part) => {
    const { bin, units, release, install } = machine()
    const text = readFileSync(SCRIPT, "utf8")
    await install({ INSTALL_K3TS_ARTIFACTS: release }, [], text.slice(0, Math.floor((text.length - 12) * part)))
    expect([...readdirSync(bin), ...readdirSync(units)]).toEqual([])
  })

  test("downloads a release with a given digest, and refuses an incomplete download", async () => {
    const { bin, release, install } = machine()
    let whole = false
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: (request) => {
        const content = readFileSync(join(release, new URL(request.url).pathname))
        return new Response(whole ? content : content.subarray(0, 30))
      },
    })
    try {
      const env = {
        INSTALL_K3TS_URL: `http://127.0.0.1:${server.port}`,
        INSTALL_K3TS_SHA256: createHash("sha256").update(EXECUTABLE).digest("hex"),
        no_proxy: "127.0.0.1",
      }
      expect((await install(env)).output).toContain("has the wrong content")
      expect(readdirSync(bin)).toEqual([])
      whole = true
      expect((await install(env)).code).toBe(0)
      expect(readFileSync(join(bin, "k3ts"), "utf8")).toBe(EXECUTABLE)
    } finally {
      await server.stop(true)
    }
  })

  test("follows no redirects with wget, which could lead to a URL without TLS, unless the digest is given", async () => {
    // given a machine without curl, whose wget notes how it is called
    const { bin, install } = machine()
    const tools = toolsWithout(scratch, "curl", "wget")
    writeFileSync(join(tools, "wget"), `#!/bin/sh\necho "$*" >>${tools}/asked\nexit 8\n`, { mode: 0o755 })
    const env = { PATH: `${join(bin, "../tools")}:${tools}`, INSTALL_K3TS_URL: "https://127.0.0.1:1" }
    // when
    const { output } = await install(env)
    await install({ ...env, INSTALL_K3TS_SHA256: "0".repeat(64) })
    // then
    expect(output).toContain("install curl, or give INSTALL_K3TS_SHA256")
    expect(readFileSync(join(tools, "asked"), "utf8")).toMatch(/^--max-redirect=0 -qO .*\n-qO .*\n$/)
  })

  test("reloads systemd although the service is not enabled", async () => {
    // given a machine that systemd runs
    const { bin, release, install, calls } = machine()
    writeFileSync(join(release, "install.sh"), readFileSync(SCRIPT, "utf8").replaceAll("/run/systemd/system", bin))
    // when
    await install({ INSTALL_K3TS_SKIP_ENABLE: "true" })
    // then
    expect(calls()).toBe("daemon-reload\n")
  })

  test("prevents the start of services by a policy-rc.d that is valid only during the installation, even if that is killed", () => {
    // given a policy of a shell that goes on
    const functions = readFileSync(SCRIPT, "utf8").replace(/^main "\$@"\n/m, "")
    const policy = join(mkdtempSync(join(scratch, "policy-")), "policy-rc.d")
    const run = `${functions}\nwrite_policy >${policy}; chmod 755 ${policy}\n${policy}; echo $?`
    const { stdout } = spawnSync("sh", ["-c", run.replace("set -efu", "")], { encoding: "utf8" })
    expect(stdout).toBe("101\n")
    // when that has ended without removing it
    expect(spawnSync(policy).status).toBe(0)
    // then it is gone
    expect(existsSync(policy)).toBe(false)
  })

  test("replaces a symbolic link, and not its target", async () => {
    const { bin, install } = machine()
    const other = join(bin, "other")
    writeFileSync(other, "of another program")
    symlinkSync(other, join(bin, "k3ts"))
    await install()
    expect(readFileSync(other, "utf8")).toBe("of another program")
    expect(readFileSync(join(bin, "k3ts"), "utf8")).toBe(EXECUTABLE)
  })

  test.each([
    { title: "where there is no kubectl", has: false, symlink: "", wants: "k3ts" },
    { title: "not where there is one", has: true, symlink: "", wants: undefined },
    { title: "beside one where that is asked for", has: true, symlink: "force", wants: "k3ts" },
    { title: "not where none is wanted", has: false, symlink: "skip", wants: undefined },
  ])("links kubectl to the executable $title, and the removal removes it", async ({ has, symlink, wants }) => {
    // given
    const { bin, install } = machine()
    const tools = toolsWithout(scratch, "kubectl")
    if (has) writeFileSync(join(tools, "kubectl"), "#!/bin/sh\n", { mode: 0o755 })
    const env = { PATH: `${join(bin, "../tools")}:${tools}` }
    const link = () => (readdirSync(bin).includes("kubectl") ? readlinkSync(join(bin, "kubectl")) : undefined)
    // when
    await install({ ...env, INSTALL_K3TS_SYMLINK: symlink })
    // then
    expect(link()).toBe(wants)
    expect(spawnSync(join(bin, "k3ts-uninstall.sh"), { env }).status).toBe(0)
    expect(link()).toBeUndefined()
  })

  test("replaces and removes no kubectl that it did not make", async () => {
    const { bin, install } = machine()
    writeFileSync(join(bin, "kubectl"), "of another program")
    const env = { PATH: `${join(bin, "../tools")}:${process.env["PATH"]}` }
    const { output } = await install({ ...env, INSTALL_K3TS_SYMLINK: "force" })
    spawnSync(join(bin, "k3ts-uninstall.sh"), { env })
    expect(output).toContain("is another kubectl and stays")
    expect(readdirSync(bin)).toEqual(["kubectl"])
  })

  test("reports that a second run has changed nothing", async () => {
    const { install } = machine()
    await install()
    const { code, output } = await install({ INSTALL_K3TS_SKIP_START: "" })
    expect(code).toBe(0)
    expect(output).toContain("Nothing has changed")
  })

  test("installs a script that removes everything again", async () => {
    const { bin, units, install, calls } = machine()
    await install({}, ["--data-dir", "/srv/k3ts"])
    const { stdout, status } = spawnSync(join(bin, "k3ts-uninstall.sh"), {
      encoding: "utf8",
      env: { PATH: `${join(bin, "../tools")}:${process.env["PATH"]}` },
    })
    expect(status).toBe(0)
    expect(stdout).toContain("k3ts uninstall --yes")
    expect(calls()).toContain("disable k3ts")
    expect([...readdirSync(bin), ...readdirSync(units)]).toEqual([])
  })

  test.each([
    {
      title: "continues after an interrupted removal",
      systemctl: "exit 1",
      wants: { status: 0, left: [] },
    },
    {
      title: "removes nothing while the service cannot be stopped",
      systemctl: '[ "$1" != stop ]',
      wants: { status: 1, left: ["k3ts", "k3ts-killall.sh", "k3ts-uninstall.sh"] },
    },
  ])("a removal $title", async ({ systemctl, wants }) => {
    // given a machine that systemd runs
    const { bin, install } = machine()
    await install()
    const script = readFileSync(join(bin, "k3ts-uninstall.sh"), "utf8").replaceAll("/run/systemd/system", bin)
    const tools = mkdtempSync(join(scratch, "tools-"))
    writeFileSync(join(tools, "systemctl"), `#!/bin/sh\n[ "$1" = daemon-reload ] && exit 0\n${systemctl}\n`)
    chmodSync(join(tools, "systemctl"), 0o755)
    // when
    const { status } = spawnSync("sh", ["-s"], { input: script, env: { PATH: `${tools}:${process.env["PATH"]}` } })
    // then
    expect<object>({ status, left: readdirSync(bin).sort() }).toEqual(wants)
  })

  test("installs scripts that know the service's data directory", async () => {
    const { bin, install } = machine()
    await install({ K3TS_WRITE_KUBECONFIG: "/root/a" }, ["--data-dir=/srv/a b"])
    const telling = '#!/bin/sh\necho "$1 $K3TS_DATA_DIR $K3TS_WRITE_KUBECONFIG"\n'
    writeFileSync(join(bin, "k3ts"), telling)
    const { stdout } = spawnSync(join(bin, "k3ts-killall.sh"), {
      encoding: "utf8",
      env: { PATH: `${join(bin, "../tools")}:${process.env["PATH"]}` },
    })
    expect(stdout).toBe("killall /srv/a b /root/a\n")
  })
})
