/** The Debian package and install.sh of dist/release, on a bare Debian. */
import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { run } from "../../pkg/process/run.ts"
import { BareRoot, lacking } from "./bare-root.ts"

const release = join(import.meta.dirname, "../../dist/release")
const architecture = process.arch === "arm64" ? "arm64" : "amd64"
const missing = lacking()
if (missing !== undefined) console.warn(`SKIPPED: the tests on a bare Debian: this machine ${missing}`)

const packageFile = (): string => {
  const name = readdirSync(release).find((one) => one.endsWith(`_${architecture}.deb`))
  if (name === undefined) throw new Error(`dist/release has no package for ${architecture}; run: npm run release`)
  return name
}

/** The files of a running k3ts that every user may read: the settings and the plugin of the pod network. */
const WITHOUT_SECRETS = ["/var/lib/k3ts/agent/cni/bin/k3ts", "/var/lib/k3ts/agent/etc/cni/net.d/10-k3ts.conflist"]

describe.skipIf(missing !== undefined)("on a bare Debian", () => {
  let root: BareRoot
  beforeEach(async () => void (root = await BareRoot.create()), 300_000)
  afterEach(async () => await root?.[Symbol.asyncDispose]())

  /** Starts what the service would start, as there is no systemd, and waits until the node is Ready. */
  const start = async (command: string) => {
    await root.sh(`setsid sh -c '${command} >/release/server.log 2>&1' </dev/null >/dev/null 2>&1 &`)
    await root.sh(
      `export KUBECONFIG=/etc/k3ts/k3ts.yaml
      n=0
      until kubectl get nodes 2>/dev/null | grep -q ' Ready '; do
        n=$((n + 1)); [ $n -lt 600 ] || { cat /release/server.log >&2; exit 1; }
        sleep 0.1
      done`,
    )
  }

  /** Applies the README's first application and returns the page that it serves at its Service's address. */
  const firstApplication = async (manifest: string) => {
    await root.sh(`export KUBECONFIG=/etc/k3ts/k3ts.yaml
      kubectl apply -f ${manifest}
      kubectl rollout status deploy/web --timeout=120s`)
    return root.sh(
      `export KUBECONFIG=/etc/k3ts/k3ts.yaml
      curl -sS -m 5 "http://$(kubectl get svc web -o jsonpath='{.spec.clusterIP}')"`,
    )
  }

  /** Returns the files of k3ts that an ordinary user can read. */
  const readableByNobody = async (): Promise<readonly string[]> => {
    const found = await root.sh(
      "setpriv --reuid 65534 --regid 65534 --clear-groups " +
        "find /etc/k3ts /var/lib/k3ts /run/k3ts /etc/default /etc/systemd/system -type f -readable -path '*k3ts*' " +
        "2>/dev/null | sort || true",
    )
    return found.trim().split("\n")
  }

  test("the package installs with apt alone, serves the first application, and a purge leaves nothing", async () => {
    // given what the package depends on, and the state of the machine
    const file = packageFile()
    await root.bring([join(release, file)])
    await root.sh(
      `apt-get satisfy -y "$(dpkg-deb -f /release/${file} Depends), $(dpkg-deb -f /release/${file} Recommends)"`,
    )
    const before = await root.state()
    // when it is installed, started and used
    await root.sh(`apt-get install -y /release/${file}`)
    expect(await root.sh("systemctl is-enabled k3ts")).toBe("enabled\n")
    await start("exec k3ts server")
    expect(await firstApplication("/usr/share/doc/k3ts/examples/web.yaml")).toBe("<h1>Hello from k3ts</h1>\n")
    // then an ordinary user can read no secret
    expect(await readableByNobody()).toEqual(["/etc/k3ts/config.yaml", ...WITHOUT_SECRETS])
    // and its pods run on while the package is replaced
    const pids = () => root.sh("pgrep -x httpd | sort")
    const running = await pids()
    await root.sh(`apt-get install -y --reinstall /release/${file}`)
    expect(await pids()).toBe(running)
    // when it is removed, nothing runs any more, and data and settings stay
    await root.sh("apt-get remove -y k3ts")
    const removed = await root.state()
    expect(removed.filter((line) => /^(process|nft|iptables|ip6tables|link|cgroup|mount):/.test(line))).toEqual(
      before.filter((line) => /^(process|nft|iptables|ip6tables|link|cgroup|mount):/.test(line)),
    )
    expect(removed).toContain("/var/lib/k3ts/server/token")
    // when it is purged, the machine is as it was
    await root.sh("apt-get purge -y k3ts")
    expect(changes(before, await root.state())).toEqual([])
  }, 300_000)

  test("a purge removes the data from the configured folders, and no folder of other programs", async () => {
    const file = packageFile()
    await root.bring([join(release, file)])
    await root.sh(`apt-get install -y /release/${file}`)
    await root.sh(`mkdir -p /srv/other && echo precious >/srv/other/file
      echo 'data-dir: "/srv/my data"' >>/etc/k3ts/config.yaml
      echo 'K3TS_WRITE_KUBECONFIG="/srv/kubeconfig of k3ts"' >/etc/default/k3ts
      echo 'UNQUOTED=a value that is no shell' >>/etc/default/k3ts`)
    await root.sh(
      `K3TS_WRITE_KUBECONFIG='/srv/kubeconfig of k3ts' setsid k3ts server --disable-agent >/dev/null 2>&1 </dev/null &
      until [ -s "/srv/kubeconfig of k3ts" ]; do sleep 0.1; done`,
    )
    await root.sh("apt-get purge -y k3ts")
    expect(await root.sh("find /srv /var/lib/k3ts /etc/k3ts 2>/dev/null | sort || true")).toBe(
      "/srv\n/srv/other\n/srv/other/file\n",
    )
  }, 300_000)

  test("install.sh installs the packages that it needs, serves the first application, and its removal leaves nothing", async () => {
    // given a release, and what it needs
    await root.bring(["SHA256SUMS", "install.sh", `k3ts-linux-${architecture}`].map((name) => join(release, name)))
    await root.bring([join(import.meta.dirname, "../../manifests/examples/web.yaml")])
    await root.sh("sh /release/install.sh && k3ts-uninstall.sh && apt-get install -y kubernetes-client")
    const before = await root.state()
    // when
    await root.sh("sh /release/install.sh", { K3TS_NODE_NAME: "chosen", HTTPS_PROXY: "http://user:secret@proxy" })
    expect(await root.sh("systemctl is-enabled k3ts")).toBe("enabled\n")
    const unit = "/etc/systemd/system/k3ts.service"
    await start(`set -a; . ${unit}.env; eval "exec $(sed -n s/^ExecStart=//p ${unit})"`)
    expect(await firstApplication("/release/web.yaml")).toBe("<h1>Hello from k3ts</h1>\n")
    expect(await root.sh("KUBECONFIG=/etc/k3ts/k3ts.yaml kubectl get nodes -o name")).toBe("node/chosen\n")
    expect(await readableByNobody()).toEqual(["/etc/systemd/system/k3ts.service", ...WITHOUT_SECRETS])
    // then
    await root.sh("k3ts-uninstall.sh")
    expect(changes(before, await root.state())).toEqual([])
  }, 300_000)

  test("install.sh creates an OpenRC service, which starts again when it is killed, and is removed", async () => {
    // given a machine that OpenRC has booted, without systemd
    await root.bring(["SHA256SUMS", "install.sh", `k3ts-linux-${architecture}`].map((name) => join(release, name)))
    await root.sh("sh /release/install.sh && k3ts-uninstall.sh && apt-get install -y openrc")
    await root.sh(`rm -f /bin/systemctl /usr/bin/systemctl
      mkdir -p /run/openrc && touch /run/openrc/softlevel
      echo 'rc_sys="lxc"' >>/etc/rc.conf
      # The service that k3ts wants would mount control groups into those of the machine outside.
      printf '#!/sbin/openrc-run\\nstart() { :; }\\n' >/etc/init.d/cgroups
      rc-service cgroups start`)
    const before = await root.state()
    // when
    await root.sh("sh /release/install.sh --disable-agent", { K3TS_WRITE_KUBECONFIG: "/etc/k3ts/of admin" })
    // then it runs, with its flags and variables
    const ready = `n=0; until curl -sk https://127.0.0.1:6443/readyz | grep -q ok; do
      n=$((n + 1)); [ $n -lt 600 ] || { cat /var/log/k3ts.log >&2; exit 1; }; sleep 0.1
    done`
    await root.sh(ready)
    const pid = async () => (await root.sh("pgrep -x k3ts")).trim()
    const first = await pid()
    expect(await root.sh(`tr '\\0' '\\n' </proc/${first}/environ | grep K3TS_`)).toBe(
      "K3TS_WRITE_KUBECONFIG=/etc/k3ts/of admin\n",
    )
    expect(await root.sh("rc-update show default")).toContain("k3ts | default")
    // when the server is killed, it starts again
    await root.sh(`kill -KILL ${first}; while [ -e /proc/${first} ]; do sleep 0.1; done; ${ready}`)
    expect(await pid()).not.toBe(first)
    // and when it is removed, the machine is as it was
    await root.sh("k3ts-uninstall.sh")
    expect(changes(before, await root.state())).toEqual([])
  }, 300_000)
})

/** Lines that only one of two states has, with what became of them. */
function changes(before: readonly string[], after: readonly string[]): readonly string[] {
  return [
    ...after.filter((line) => !before.includes(line)).map((line) => `left: ${line}`),
    ...before.filter((line) => !after.includes(line)).map((line) => `gone: ${line}`),
  ]
}

describe("the files of a release", () => {
  const lint = async (program: string, args: readonly string[]) => {
    if (Bun.which(program) === null) return console.warn(`SKIPPED: ${program} is not there: hack/setup.sh --release`)
    expect(await run(program, args)).toBe("")
  }

  test(
    "lintian finds no fault in the packages",
    () =>
      lint("lintian", [
        ...["--fail-on", "error,warning", "--allow-root"],
        ...readdirSync(release)
          .filter((name) => name.endsWith(".deb"))
          .map((name) => join(release, name)),
      ]),
    120_000,
  )

  test("shellcheck finds no fault in install.sh and the scripts of the packages", () =>
    lint("shellcheck", [
      join(release, "install.sh"),
      ...["postinst", "prerm", "postrm"].map((name) => join(import.meta.dirname, "../../hack/release/debian", name)),
    ]))
})
