import { existsSync } from "node:fs"
import { copyFile, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises"
import { basename, join } from "node:path"
import { run } from "../../pkg/process/run.ts"
import { cpio } from "./cpio.ts"

/** The files from which a virtual machine boots. */
export interface MachineImages {
  readonly kernel: string
  /** The initramfs, which mounts the disks and runs the command. */
  readonly initramfs: string
  /** The image of a disk with Debian. */
  readonly root: string
}

/** The content of a root. */
export interface RootContent {
  /** The name of its folder in the cache. */
  readonly name: string
  /** Debian's name of the release. */
  readonly suite: "bookworm" | "trixie"
  /** What is installed, besides the packages of a minimal Debian. */
  readonly packages: readonly string[]
  /** Packages of these whose newest version in Debian replaces that of the release. */
  readonly fromSid?: readonly string[]
  /** A size of mkfs.ext4. */
  readonly size: string
}

/** Runs a command without a service manager; its packages are those that tests of the kernel need. */
export const PLAIN: RootContent = {
  name: "plain",
  suite: "bookworm",
  packages: ["kmod", "procps", "quota", "xfsprogs", "e2fsprogs", "iproute2", "nftables"],
  size: "3G",
}

/** The Debians with systemd: two releases, and the newer with the containerd of Debian's next. */
export type SystemdRoot = "bookworm" | "trixie" | "containerd2"

/** A Debian with systemd, and with what k3ts's package depends on, since apt has no network in the machine. */
export const withSystemd = (name: SystemdRoot): RootContent => ({
  name,
  suite: name === "containerd2" ? "trixie" : name,
  packages: [
    ...["systemd-sysv", "dbus", "udev", "kmod", "procps", "curl", "iproute2", "kubernetes-client", "e2fsprogs"],
    ...["containerd", "runc", "containernetworking-plugins", "conntrack", "iptables", "nftables", "ca-certificates"],
  ],
  fromSid: name === "containerd2" ? ["containerd", "runc"] : [],
  size: "4G",
})
const KERNEL = "linux-image-cloud-amd64"

/** Returns why this host cannot make a machine, in one sentence; undefined when it can. */
export function lacking(): string | undefined {
  if (process.getuid?.() !== 0) return "needs root, for debootstrap"
  const missing = ["qemu-system-x86_64", "debootstrap", "mkfs.ext4", "busybox", "dpkg-deb", "xz"].find(
    (program) => Bun.which(program) === null,
  )
  return missing === undefined ? undefined : `needs ${missing}: hack/setup.sh --vm`
}

/**
 * Returns the images of a Debian with its cloud kernel from a folder of `cache`. The first call makes them, which takes
 * some minutes and downloads packages from Debian's archive.
 */
export async function debian(cache: string, content = PLAIN): Promise<MachineImages> {
  const folder = join(cache, content.name)
  await mkdir(folder, { recursive: true })
  const images = {
    kernel: join(folder, "vmlinuz"),
    initramfs: join(folder, "initramfs"),
    root: join(folder, "root.ext4"),
  }
  if (!existsSync(images.root)) await makeRoot(folder, content, images)
  await writeFile(images.initramfs, await initramfs(join(folder, "modules")))
  return images
}

/**
 * Makes the kernel and the root image. The root image is renamed into place last, so that an interrupted attempt is
 * repeated.
 */
async function makeRoot(folder: string, content: RootContent, { kernel, root }: MachineImages): Promise<void> {
  const { suite, packages, fromSid = [], size } = content
  const tree = join(folder, "tree")
  await rm(tree, { recursive: true, force: true })
  await run("debootstrap", ["--variant=minbase", `--include=${packages.join(",")}`, suite, tree])
  await copyFile("/etc/resolv.conf", join(tree, "etc/resolv.conf"))
  await run("chroot", [tree, "apt-get", "update"])
  // Not extracted into the root: the package's folder /lib would replace Debian's link from /lib to /usr/lib.
  const unpacked = join(folder, "kernel")
  await run("dpkg-deb", ["--extract", await kernelPackage(tree), unpacked])
  const [version = ""] = (await readdir(join(unpacked, "boot")))
    .filter((name) => name.startsWith("vmlinuz-"))
    .map((name) => name.slice("vmlinuz-".length))
  const modules = [join(unpacked, "lib/modules"), join(unpacked, "usr/lib/modules")].find((path) => existsSync(path))!
  await run("cp", ["--recursive", modules, join(tree, "usr/lib/modules")])
  await run("chroot", [tree, "depmod", version])
  await rename(join(unpacked, "boot", `vmlinuz-${version}`), kernel)
  await rm(unpacked, { recursive: true, force: true })
  await copyDiskModules(tree, version, join(folder, "modules"))
  if (fromSid.length > 0) await installFromSid(tree, fromSid)
  await makeDisk(tree, `${root}.new`, size)
  await rename(`${root}.new`, root)
  await rm(tree, { recursive: true, force: true })
}

async function installFromSid(tree: string, packages: readonly string[]): Promise<void> {
  const mirror = (await readFile(join(tree, "etc/apt/sources.list"), "utf8")).split(" ")[1]!
  const list = join(tree, "etc/apt/sources.list.d/sid.list")
  await writeFile(list, `deb ${mirror} sid main\n`)
  // sid has a list for each few hours; a mirror may be behind, and so may be the clock of the host.
  await run("chroot", [tree, "apt-get", "-o", "Acquire::Check-Valid-Until=false", "update"])
  await run("chroot", [tree, "apt-get", "install", "-y", "--no-install-recommends", "-t", "sid", ...packages])
  await rm(list)
}

/** Downloads the package of the release's current cloud kernel. Returns its path. */
async function kernelPackage(tree: string): Promise<string> {
  const said = await run("chroot", [tree, "apt-cache", "depends", KERNEL])
  const name = /Depends: (linux-image-\S+)/.exec(said)?.[1]
  if (name === undefined) throw new Error(`${KERNEL} is not in Debian's archive: run apt-get update`)
  await run("chroot", [tree, "sh", "-c", `cd /tmp && apt-get download "$1"`, "sh", name])
  const [found] = (await readdir(join(tree, "tmp"))).filter((file) => file.startsWith("linux-image-"))
  return join(tree, "tmp", found!)
}

/** Copies the modules that the disks need, with numbers before their names in the order in which they are loaded. */
async function copyDiskModules(tree: string, version: string, to: string): Promise<void> {
  await rm(to, { recursive: true, force: true })
  await mkdir(to)
  const said = await run("chroot", [
    tree,
    "modprobe",
    "--set-version",
    version,
    "--show-depends",
    "--all",
    ...DISK_MODULES,
  ])
  // A module that is built into the kernel has a line "builtin".
  const paths = new Set([...said.matchAll(/^insmod (\S+)/gm)].map(([, path]) => path!))
  for (const [index, path] of [...paths].entries()) {
    const copy = join(to, `${String(index).padStart(2, "0")}-${basename(path)}`)
    await copyFile(join(tree, path), copy)
    if (copy.endsWith(".xz")) await run("xz", ["--decompress", copy])
  }
}

/**
 * Makes an ext4 image in the file `image` with the content of a folder. `size` is a size of mkfs.ext4; the file is
 * sparse.
 */
export async function makeDisk(folder: string, image: string, size: string): Promise<void> {
  await rm(image, { force: true })
  await run("mkfs.ext4", ["-q", "-d", folder, image, size])
}

const DISK_MODULES = ["virtio_pci", "virtio_blk", "ext4"]

/**
 * /dev/vda is Debian's root and /dev/vdb the caller's folder. Then systemd starts the rest; or nothing, where there is
 * none or the kernel was told `services=none`: what the kernel does not know is in the environment of its first process.
 */
const INIT = `#!/bin/busybox sh
busybox=/bin/busybox
$busybox mount -t devtmpfs dev /dev
for module in /modules/*; do $busybox insmod $module; done
$busybox mount -t ext4 /dev/vda /root
$busybox mkdir -p /root/folder
$busybox mount --move /dev /root/dev
$busybox mount -t ext4 /root/dev/vdb /root/folder
$busybox cp /shell /root/folder/.shell
if [ -x /root/lib/systemd/systemd ] && [ "$services" != none ]; then
  units=/root/etc/systemd/system
  $busybox mkdir -p $units/multi-user.target.wants
  $busybox cp /shell.service $units
  $busybox ln -sf ../shell.service $units/multi-user.target.wants
  echo machine >/root/etc/hostname
  # QEMU names no gateway where nothing is behind it, and without a default route no Service has a way.
  printf '[Match]\\nName=en*\\n[Network]\\nDHCP=ipv4\\nGateway=10.0.2.2\\n' >/root/etc/systemd/network/test.network
  $busybox ln -sf /lib/systemd/system/systemd-networkd.service $units/multi-user.target.wants
  $busybox mkdir -p $units/network-online.target.wants
  $busybox ln -sf /lib/systemd/system/systemd-networkd-wait-online.service $units/network-online.target.wants
  exec $busybox switch_root /root /lib/systemd/systemd
fi
$busybox mount -t proc proc /root/proc
$busybox mount -t sysfs sys /root/sys
$busybox mount -t cgroup2 cgroup2 /root/sys/fs/cgroup
$busybox mount -t tmpfs tmp /root/tmp
$busybox mount -t tmpfs run /root/run
$busybox mkdir -p /root/dev/pts
$busybox mount -t devpts pts /root/dev/pts
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
# No chroot: containers get a root of their own, which the kernel refuses to processes that were given a false one.
exec $busybox switch_root /root /bin/sh -c 'ip link set lo up; exec sh /folder/.shell'
`

/**
 * Runs what comes on the second serial port: the length of a script in a line, and then the script. Answers with a line
 * of its exit code and the length of its output, and then the output; and with an empty answer at the start.
 */
const SHELL = `port=/dev/ttyS1
stty -F $port raw -echo
exec 3<>$port
printf '0 0\\n' >&3
cd /folder
while read -r length <&3; do
  head -c "$length" <&3 >/run/test-script
  sh /run/test-script >/run/test-output 2>&1 </dev/null 3>&-
  printf '%s %s\\n' $? "$(stat -c %s /run/test-output)" >&3
  cat /run/test-output >&3
done
`

/** The services of the machine have started before it. */
const SHELL_SERVICE = `[Unit]
Description=The shell of the test
After=basic.target

[Service]
Type=exec
Environment=HOME=/root
ExecStart=/bin/sh /folder/.shell
`

async function initramfs(modules: string): Promise<Uint8Array> {
  const files = await Promise.all(
    (await readdir(modules)).toSorted().map(async (name) => ({
      path: `modules/${basename(name)}`,
      data: await readFile(join(modules, name)),
      mode: 0o644,
    })),
  )
  const busybox = await readFile(Bun.which("busybox")!)
  return cpio([
    ...["bin", "dev", "proc", "root", "modules"].map((path) => ({ path, mode: 0o755 })),
    { path: "init", data: new TextEncoder().encode(INIT), mode: 0o755 },
    { path: "shell", data: new TextEncoder().encode(SHELL), mode: 0o644 },
    { path: "shell.service", data: new TextEncoder().encode(SHELL_SERVICE), mode: 0o644 },
    { path: "bin/busybox", data: busybox, mode: 0o755 },
    ...files,
  ])
}
