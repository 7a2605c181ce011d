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

/** What a root holds. */
export interface RootContent {
  /** Of its image in the cache. */
  readonly name: string
  /** What is installed, besides the packages of a minimal Debian. */
  readonly packages: readonly string[]
  /** What is downloaded with its dependencies, so that apt can install it without a network. */
  readonly downloads: readonly string[]
  /** A size of mkfs.ext4. */
  readonly size: string
}

/** Runs a command without a service manager; its packages are those that tests of the kernel need. */
export const PLAIN: RootContent = {
  name: "root",
  packages: ["kmod", "quota", "xfsprogs", "e2fsprogs", "iproute2", "nftables"],
  downloads: [],
  size: "3G",
}
const RELEASE = "bookworm"
const KERNEL = "linux-image-cloud-amd64"

/** Returns why this host cannot make a machine, in one sentence; undefined when it can. */
export function lacking(): string | undefined {
  if (process.getuid?.() !== 0) return "needs root, for debootstrap"
  const missing = ["qemu-system-x86_64", "debootstrap", "mkfs.ext4", "busybox", "dpkg-deb"].find(
    (program) => Bun.which(program) === null,
  )
  return missing === undefined
    ? undefined
    : `needs ${missing}: apt-get install qemu-system-x86 debootstrap e2fsprogs busybox-static`
}

/**
 * Returns the images of a Debian with its cloud kernel from the folder `cache`. The first call makes them, which takes
 * some minutes and downloads packages from Debian's archive.
 */
export async function debian(cache: string, content = PLAIN): Promise<MachineImages> {
  await mkdir(cache, { recursive: true })
  const images = {
    kernel: join(cache, "vmlinuz"),
    initramfs: join(cache, "initramfs"),
    root: join(cache, `${content.name}.ext4`),
  }
  if (!existsSync(images.root)) await makeRoot(cache, content, images)
  await writeFile(images.initramfs, await initramfs(join(cache, "modules")))
  return images
}

/**
 * Makes the kernel and the root image. The root image is renamed into place last, so that an interrupted attempt is
 * repeated.
 */
async function makeRoot(cache: string, content: RootContent, { kernel, root }: MachineImages): Promise<void> {
  const { name, packages, downloads, size } = content
  const folder = join(cache, name)
  await rm(folder, { recursive: true, force: true })
  await run("debootstrap", ["--variant=minbase", `--include=${packages.join(",")}`, RELEASE, folder])
  if (downloads.length > 0) {
    await copyFile("/etc/resolv.conf", join(folder, "etc/resolv.conf"))
    await run("chroot", [folder, "apt-get", "update"])
    await run("chroot", [folder, "apt-get", "install", "-y", "--download-only", ...downloads])
  }
  // Not extracted into the root: the package's folder /lib would replace Debian's link from /lib to /usr/lib.
  const unpacked = join(cache, "kernel")
  await run("dpkg-deb", ["--extract", await kernelPackage(cache), unpacked])
  await run("cp", ["--recursive", join(unpacked, "lib/modules"), join(folder, "usr/lib/modules")])
  const image = (await readdir(join(unpacked, "boot"))).find((name) => name.startsWith("vmlinuz-"))!
  await run("chroot", [folder, "depmod", image.slice("vmlinuz-".length)])
  await rename(join(unpacked, "boot", image), kernel)
  await rm(unpacked, { recursive: true, force: true })
  await rm(join(cache, "modules"), { recursive: true, force: true })
  await mkdir(join(cache, "modules"))
  for (const name of DISK_MODULES) {
    const [path] = (await run("find", [join(folder, "usr/lib/modules"), "-name", `${name}.ko`])).split("\n")
    // A module without a file is built into the kernel.
    if (path !== "") await run("cp", [path!, join(cache, "modules")])
  }
  await makeDisk(folder, `${root}.new`, size)
  await rename(`${root}.new`, root)
  await rm(folder, { recursive: true, force: true })
}

/** Downloads the package of Debian's current cloud kernel. Returns its path. */
async function kernelPackage(cache: string): Promise<string> {
  const said = await run("apt-cache", ["depends", KERNEL])
  const name = /Depends: (linux-image-\S+)/.exec(said)?.[1]
  if (name === undefined) throw new Error(`${KERNEL} is not in Debian's archive: run apt-get update`)
  await run("sh", ["-c", `cd "$1" && rm -f linux-image-*.deb && apt-get download "$2"`, "sh", cache, name])
  const [found] = (await readdir(cache)).filter((file) => file.startsWith("linux-image-"))
  return join(cache, found!)
}

/**
 * Makes an ext4 image in the file `image` with the content of a folder. `size` is a size of mkfs.ext4; the file is
 * sparse.
 */
export async function makeDisk(folder: string, image: string, size: string): Promise<void> {
  await rm(image, { force: true })
  await run("mkfs.ext4", ["-q", "-d", folder, image, size])
}

/** The kernel modules for virtio disks, in the order of their dependencies. ext4 is built into the kernel. */
const DISK_MODULES = [
  "virtio_ring",
  "virtio",
  "virtio_pci_legacy_dev",
  "virtio_pci_modern_dev",
  "virtio_pci",
  "virtio_blk",
]

/**
 * /dev/vda is Debian's root and /dev/vdb the caller's folder. The output goes to the second serial port, the exit code
 * to the third.
 */
const INIT = `#!/bin/busybox sh
busybox=/bin/busybox
$busybox mount -t devtmpfs dev /dev
for module in ${DISK_MODULES.join(" ")}; do $busybox insmod /modules/$module.ko; done
$busybox mount -t ext4 /dev/vda /root
$busybox mkdir -p /root/folder
$busybox mount -t proc proc /proc
if $busybox grep -qw k3ts.systemd /proc/cmdline; then
  $busybox mount --move /dev /root/dev
  $busybox mount -t ext4 /root/dev/vdb /root/folder
  units=/root/etc/systemd/system
  $busybox mkdir -p $units/multi-user.target.wants
  $busybox cp /command.service $units
  $busybox ln -s ../command.service $units/multi-user.target.wants
  $busybox umount /proc
  exec $busybox switch_root /root /lib/systemd/systemd
fi
$busybox mount -t proc proc /root/proc
$busybox mount -t sysfs sys /root/sys
$busybox mount -t cgroup2 cgroup2 /root/sys/fs/cgroup
$busybox mount -t tmpfs tmp /root/tmp
$busybox mount -t tmpfs run /root/run
$busybox mount --move /dev /root/dev
$busybox mkdir -p /root/dev/pts
$busybox mount -t devpts pts /root/dev/pts
$busybox mount -t ext4 /root/dev/vdb /root/folder
for port in 1 2; do $busybox stty -F /root/dev/ttyS$port raw; done
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
$busybox chroot /root sh -c 'ip link set lo up; cd /folder && sh /folder/.command' \\
  </root/dev/null >/root/dev/ttyS1 2>&1
echo $? >/root/dev/ttyS2
$busybox poweroff -f
`

/** Runs the command after systemd has started everything else, and switches the machine off. */
const COMMAND_SERVICE = `[Unit]
Description=The command of the test
After=basic.target

[Service]
Type=exec
Environment=HOME=/root
ExecStart=/bin/sh -c 'for port in 1 2; do stty -F /dev/ttyS$$port raw; done; cd /folder; \\
  sh .command </dev/null >/dev/ttyS1 2>&1; echo $$? >/dev/ttyS2; sleep 1; systemctl poweroff --force --force'
`

async function initramfs(modules: string): Promise<Uint8Array> {
  const files = await Promise.all(
    (await readdir(modules)).map(async (name) => ({
      path: `modules/${basename(name)}`,
      data: await readFile(join(modules, name)),
      mode: 0o644,
    })),
  )
  const busybox = await readFile(Bun.which("busybox")!)
  return cpio([
    ...["bin", "dev", "proc", "root", "modules"].map((path) => ({ path, mode: 0o755 })),
    { path: "init", data: new TextEncoder().encode(INIT), mode: 0o755 },
    { path: "command.service", data: new TextEncoder().encode(COMMAND_SERVICE), mode: 0o644 },
    { path: "bin/busybox", data: busybox, mode: 0o755 },
    ...files,
  ])
}
