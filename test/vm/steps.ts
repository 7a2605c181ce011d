import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Machine, PATIENCE, type MachineOptions } from "./machine.ts"

/** From the kernel's start to the shell of the test, of which systemd is ready when the machine is emulated. */
const BOOT_MS = 180_000

/** Functions for the scripts of steps. */
const LIBRARY = `
set -eu
# kubectl writes into the home directory.
export HOME=/tmp KUBECONFIG=/etc/k3ts/k3ts.yaml DEBIAN_FRONTEND=noninteractive SYSTEMD_BUS_TIMEOUT=300
fail() {
  printf 'FAILED: %s\\n' "$*"
  systemctl status --no-pager --lines=40 k3ts || tail -n 40 /var/log/k3ts.log || true
  exit 1
}
# The bound of a command that takes one: bound SECONDS
bound() { echo $(($1 * ${Math.ceil(PATIENCE)})); }
# until_true SECONDS COMMAND…
until_true() {
  end=$(($(cut -d. -f1 /proc/uptime) + $(bound "$1")))
  shift
  until "$@"; do
    [ "$(cut -d. -f1 /proc/uptime)" -lt "$end" ] || fail "not within its time: $*"
    sleep 1
  done
}
property() { systemctl show --value --property "$1" k3ts; }
# Of each web server the first process: it has another for each request.
web_pids() { ps -eo pid=,ppid=,comm= | awk '$3 == "httpd" { parent[$1] = $2 } END { for (p in parent) if (!(parent[p] in parent)) print p }' | sort; }
page() { curl -sS -m "$(bound 10)" "http://$(kubectl get svc web -o jsonpath='{.spec.clusterIP}')"; }
# kubectl gives up after half a minute when it reads what the kinds look like, which a busy host takes to tell.
applied() { kubectl apply -f /usr/share/doc/k3ts/examples/web.yaml; }
serves() { [ "$(page 2>/dev/null)" = "<h1>Hello from k3ts</h1>" ]; }
node_ready() { kubectl get nodes 2>/dev/null | grep -q ' Ready '; }
# Rules, interfaces, mounts, cgroups of pods, programs, and files outside of the places of dpkg, apt and logs.
state() {
  find / /run -xdev \\( -path /proc -o -path /sys -o -path /dev -o -path /folder -o -path /var/lib/dpkg \\
    -o -path /var/cache -o -path /var/lib/apt -o -path /var/log -o -path /tmp -o -path /run/systemd -o -path /run/udev \\
    -o -path /var/lib/systemd/timers \\) -prune -o -print | sort -u
  find /var/log/pods /var/log/containers 2>/dev/null || true
  # iptables makes empty tables when it is asked for its rules.
  nft list tables | grep -vE 'table ip6? (nat|filter|mangle|raw)$' | sed 's/^/nft: /' || true
  iptables-save | grep -E '^-A|^:.* - ' | sed 's/ [[].*//; s/^/iptables: /' || true
  ip -o link | cut -d: -f2 | sed 's/^/link:/'
  cut -d' ' -f5 /proc/self/mountinfo | sort | sed 's/^/mount: /'
  find /sys/fs/cgroup -type d \\( -path '*kubepods*' -o -path '*k3ts*' \\) | sed 's/^/cgroup: /'
  ps -eo comm= | grep -E 'k3ts|containerd-shim|httpd|pause' | sort | sed 's/^/process: /'
}
`

/** Runs the steps of a test in a machine, tells each and its time, and ends with the first that fails. */
export class Steps implements AsyncDisposable {
  readonly #options: MachineOptions
  #machine: Machine

  private constructor(options: MachineOptions, machine: Machine) {
    this.#options = options
    this.#machine = machine
  }

  /** Starts a machine, or continues one with the memory that `save` has written. */
  static async begin(options: MachineOptions): Promise<Steps> {
    const machine = await Machine.start(options)
    const steps = new Steps(options, machine)
    if (options.memory === undefined) await steps.#timed("Starting the machine", () => machine.up(BOOT_MS))
    return steps
  }

  /** Runs a script of sh. @throws Error with its output where it fails, or has not ended after so many seconds */
  async step(title: string, seconds: number, script: string): Promise<void> {
    await this.#timed(title, async () => {
      const { exitCode, output } = await this.#machine.run(`${LIBRARY}${script}`, seconds * 1000)
      if (exitCode !== 0) throw new Error(`exit code ${exitCode}\n${output}`)
    })
  }

  /** Shuts the machine down and starts it again. */
  async reboot(): Promise<void> {
    await this.#timed("Rebooting", async () => {
      // The shell answers before it is ended with everything else.
      await this.#machine.run("setsid sh -c 'sleep 2; systemctl reboot' </dev/null >/dev/null 2>&1 &", BOOT_MS)
      await this.#machine.off(BOOT_MS)
      await this.#startAgain()
    })
  }

  /** Ends the machine between two instructions, and starts it again. */
  async cutPower(): Promise<void> {
    await this.#timed("Cutting the power", async () => {
      await this.#machine.cutPower()
      await this.#startAgain()
    })
  }

  /** Keeps the machine as it is, for other tests to begin with, and ends. */
  async save(memory: string): Promise<void> {
    await this.#timed("Saving the machine", () => this.#machine.save(memory))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#machine[Symbol.asyncDispose]()
  }

  async #startAgain(): Promise<void> {
    await this.#machine[Symbol.asyncDispose]()
    this.#machine = await Machine.start({ ...this.#options, memory: undefined })
    await this.#machine.up(BOOT_MS)
  }

  async #timed(title: string, run: () => Promise<void>): Promise<void> {
    const began = performance.now()
    console.log(`==> ${title}`)
    try {
      await run()
    } catch (err) {
      const console = await this.#machine.console()
      throw new Error(`${title}: ${(err as Error).message}\nThe machine's console:\n${console.slice(-2000)}`, {
        cause: err,
      })
    }
    console.log(`    ${Math.round((performance.now() - began) / 1000)} s`)
  }
}

/** Runs `use` with a folder that is removed afterwards. */
export async function withFolder<T>(use: (folder: string) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), "k3ts-vm-"))
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
