/**
 * A bare Debian of its own: a root made by debootstrap, in namespaces of mounts, processes and the network. systemd
 * does not run in it.
 */
import { spawn, type ChildProcess } from "node:child_process"
import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs"
import { copyFile, mkdir } from "node:fs/promises"
import { homedir, tmpdir } from "node:os"
import { basename, join } from "node:path"
import { neededPackages } from "../../hack/release/debian/control.ts"
import { run } from "../../pkg/process/run.ts"

const RELEASE = "bookworm"
/** Programs that the tests call in the root, besides those of the package; and systemctl, which install.sh needs. */
const TOOLS = ["curl", "systemd", "procps"]
/** Packages that Debian does not have. */
const NOT_IN_DEBIAN: ReadonlySet<string> = new Set(["containerd.io", "kubernetes-cni", "kubectl"])
/** What k3ts's package depends on and recommends, downloaded once for all runs. */
const PACKAGES = [
  ...neededPackages().map((alternatives) => alternatives.find((name) => !NOT_IN_DEBIAN.has(name))!),
  "openrc",
]

/** Returns why this machine cannot make a root, in one sentence; undefined when it can. */
export function lacking(): string | undefined {
  if (process.getuid?.() !== 0) return "needs root, for debootstrap and namespaces"
  return Bun.which("debootstrap") === null ? "needs debootstrap: hack/setup.sh --release" : undefined
}

/** Returns a root with lists and archives of packages, which is made at the first call and kept. */
async function cachedRoot(): Promise<string> {
  const cache = process.env["K3TS_RELEASE_CACHE"] ?? join(homedir(), ".cache/k3ts-release")
  // Another list of packages makes another root.
  const root = join(
    cache,
    `${RELEASE}-${Bun.hash([...TOOLS, ...PACKAGES].join())
      .toString(16)
      .slice(0, 8)}`,
  )
  if (existsSync(root)) return root
  const aside = `${root}.new`
  rmSync(aside, { recursive: true, force: true })
  mkdirSync(cache, { recursive: true })
  await run("debootstrap", ["--variant=minbase", `--include=${TOOLS.join(",")}`, RELEASE, aside])
  await copyFile("/etc/resolv.conf", join(aside, "etc/resolv.conf"))
  await run("chroot", [aside, "apt-get", "update"])
  await run("chroot", [aside, "apt-get", "install", "-y", "--download-only", ...PACKAGES])
  renameSync(aside, root)
  return root
}

/** Runs after SETUP, with the `ip` of the host. The address is reserved by RFC 5737 and reaches nothing. */
const NETWORK = `ip link set lo up
ip link add eth0 type veth peer name wire
ip link set wire up
ip addr add 192.0.2.10/24 dev eth0
ip link set eth0 up
ip route add default via 192.0.2.1 dev eth0`

/** Enters the folder as the root of a namespace, and waits. */
const SETUP = `set -e
mount --bind "$1" "$1"
cd "$1"
mount --rbind /dev dev
mount -t proc proc proc
mount -t sysfs sys sys
mount --rbind /sys/fs/cgroup sys/fs/cgroup
mount -t tmpfs run run
# runc needs a root that is a mount, which that of a chroot is not.
pivot_root . mnt
cd /
umount --lazy /mnt
mount --make-rshared /
hostname bare
echo "127.0.0.1 localhost bare" >/etc/hosts
PATH=/usr/sbin:/usr/bin:/sbin:/bin
echo ready
sleep infinity & wait`

export class BareRoot implements AsyncDisposable {
  /** Where the root is, seen from outside. */
  readonly folder: string
  readonly #holder: ChildProcess
  /** The first process in the namespaces. */
  readonly #pid: string

  private constructor(folder: string, holder: ChildProcess, pid: string) {
    this.folder = folder
    this.#holder = holder
    this.#pid = pid
  }

  static async create(): Promise<BareRoot> {
    const folder = mkdtempSync(join(tmpdir(), "k3ts-bare-"))
    await run("cp", ["--archive", "--reflink=auto", `${await cachedRoot()}/.`, folder])
    // bash: as the first process it waits for those whose parents have ended.
    const holder = spawn(
      "unshare",
      [
        ...["--mount", "--pid", "--net", "--uts", "--ipc", "--fork", "--kill-child"],
        ...["bash", "-c", SETUP, "bash", folder],
      ],
      { stdio: ["ignore", "pipe", "inherit"] },
    )
    try {
      await new Promise<void>((resolve, reject) => {
        holder.stdout!.once("data", () => resolve())
        holder.once("exit", (code) => reject(new Error(`unshare ended with code ${code}`)))
      })
      const pid = readFileSync(`/proc/${holder.pid}/task/${holder.pid}/children`, "utf8").trim()
      await run("nsenter", ["--target", pid, "--net", "sh", "-euc", NETWORK])
      return new BareRoot(folder, holder, pid)
    } catch (err) {
      holder.kill("SIGKILL")
      rmSync(folder, { recursive: true, force: true })
      throw err
    }
  }

  /** Copies files into the folder /release of the root. */
  async bring(paths: readonly string[]): Promise<void> {
    await mkdir(join(this.folder, "release"), { recursive: true })
    for (const path of paths) await copyFile(path, join(this.folder, "release", basename(path)))
  }

  /** Runs a script of sh as root in the root. Returns what it printed. @throws Error with its errors when it fails */
  sh(script: string, env: Readonly<Record<string, string>> = {}): Promise<string> {
    return run("nsenter", [
      ...["--target", this.#pid, "--mount", "--pid", "--net", "--uts", "--ipc", "--root", "--wd"],
      ...["env", "-i", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"],
      ...[
        "HOME=/release",
        "DEBIAN_FRONTEND=noninteractive",
        ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
      ],
      ...["sh", "-euc", script],
    ])
  }

  /** Returns what a machine has beyond its packages: files, rules, interfaces, mounts, cgroups of pods, processes. */
  async state(): Promise<readonly string[]> {
    const text = await this.sh(STATE)
    return text.split("\n").filter((line) => line !== "")
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => this.#holder.once("exit", resolve))
    this.#holder.kill("SIGKILL")
    await ended
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/**
 * Left out is what dpkg, apt and other packages keep for themselves, and tables without rules that iptables makes when
 * it is asked for its rules.
 */
const STATE = `
find / /run -xdev \\( -path /proc -o -path /sys -o -path /dev -o -path /release -o -path /var/lib/dpkg \\
  -o -path /var/cache -o -path /var/lib/apt -o -path /var/log/apt -o -path /tmp \\) -prune -o -print | sort -u |
  grep -vE '^/var/log/(dpkg|alternatives)[.]log$|^/(proc|sys|dev|release|tmp)$'
ls -A /tmp | sed 's/^/in tmp: /'
nft list tables | grep -vE 'table ip6? (nat|filter|mangle|raw)$' | sed 's/^/nft: /' || true
for program in iptables-save ip6tables-save; do
  $program | grep -E '^-A|^:.* - ' | sed "s/ [[].*//; s/^/$program: /" || true
done
ip -o link | cut -d: -f2 | sed 's/^/link:/'
cut -d' ' -f5 /proc/self/mountinfo | sort | sed 's/^/mount: /'
find /sys/fs/cgroup -type d -path '*kubepods*' | sed 's/^/cgroup: /'
ps -eo comm= | grep -vxE 'bash|sleep|sh|ps|grep|sed|nsenter|chroot|env' | sed 's/^/process: /' || true
`
