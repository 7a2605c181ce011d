import type { PinnedPackage } from "./debian-archive.ts"

/** The one program of the images of manifests/examples. */
export const BUSYBOX: PinnedPackage = {
  name: "busybox-static",
  version: "1:1.35.0-4+deb12u1+b1",
  sha256: {
    amd64: "3d3fdbe91d4660c873e14b092c213fe81c1da6362daa236eb25d0171eb108744",
    arm64: "732c9135564fc71337e0e05fb4da4d11e6c28c1834bce3e405e575afef2a52f5",
  },
}

/** The C library in the container image of k3ts: the only one that the executable asks for. */
export const LIBC: PinnedPackage = {
  name: "libc6",
  version: "2.36-9+deb12u14",
  sha256: {
    amd64: "ba4f88f73dbc3ae9055f3c20f4523bfdbaf1ad13ff95e258924f77d20b4fbedf",
    arm64: "01f4330719fd4f65580e16ea5a0527f372fca750e8f588d26deaf09f2d3b1cf4",
  },
}
