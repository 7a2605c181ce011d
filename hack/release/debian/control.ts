import { LICENSES } from "../licenses.ts"
import type { Release } from "../release.ts"
import type { Architecture } from "../architectures.ts"

/** The revision of the package: a package that changes while the program does not gets the next one. */
const REVISION = 1
const MAINTAINER = "k3ts developers <k3ts@packages.invalid>"

/** The version of the package, as Debian writes it: "0.1.0-1". */
export const packageVersion = ({ version }: Pick<Release, "version">): string => `${version}-${REVISION}`

export const packageFile = (release: Pick<Release, "version">, architecture: Architecture): string =>
  `k3ts_${packageVersion(release)}_${architecture}.deb`

/**
 * What a node needs, which `k3ts check-config` names too. Docker's containerd.io has containerd and runc in one package,
 * and kubernetes-cni is the name of the plugins in Kubernetes' own archive.
 */
const DEPENDS = [
  "libc6 (>= 2.17)",
  "containerd | containerd.io",
  "runc | containerd.io",
  "containernetworking-plugins | kubernetes-cni",
  "conntrack",
  "iproute2",
  "iptables",
  "mount",
  "nftables",
]
/** Modules are loaded by kmod, registries are reached with certificates, and clusters are used with kubectl. */
const RECOMMENDS = ["ca-certificates", "kmod"]
/** Quota enforces the sizes of local volumes. */
const SUGGESTS = ["quota"]

/** Returns the packages that k3ts depends on, then those that it recommends, each with its alternatives. */
export const neededPackages = (): readonly (readonly string[])[] =>
  [...DEPENDS, ...RECOMMENDS].map((one) => one.split(" | ").map((name) => name.split(" ")[0]!))

export interface ControlFacts {
  readonly architecture: Architecture
  /** KiB. */
  readonly installedSize: number
}

/** Returns DEBIAN/control. Source: Debian Policy, 5.3. */
export const control = (release: Pick<Release, "version">, { architecture, installedSize }: ControlFacts): string =>
  `Package: k3ts
Version: ${packageVersion(release)}
Architecture: ${architecture}
Maintainer: ${MAINTAINER}
Installed-Size: ${installedSize}
Depends: ${DEPENDS.join(", ")}
Recommends: ${RECOMMENDS.join(", ")}
Suggests: ${SUGGESTS.join(", ")}
Section: admin
Priority: optional
Description: Kubernetes cluster in one executable
 k3ts runs the API server, the controllers, the scheduler, kube-proxy, the
 kubelet and the DNS of a Kubernetes cluster as components of one process on
 one machine. kubectl and other tools work with it unchanged.
 .
 The service starts with the machine. Pods go on while it is restarted or
 upgraded; they end when the package is removed.
`

/** Returns the changelog of the package, which names the commit that it is made of. Source: Debian Policy, 4.4. */
export const changelog = ({ version, commit, epoch }: Pick<Release, "version" | "commit" | "epoch">): string =>
  `k3ts (${packageVersion({ version })}) unstable; urgency=medium

  * Release ${version}, made of the commit
    ${commit}.
    What is new in it is in changelog.gz.

 -- ${MAINTAINER}  ${new Date(epoch * 1000).toUTCString().replace("GMT", "+0000")}
`

/** Returns the text on copyright that each package has. Source: Debian Policy, 12.5. */
export const copyright = ({ epoch }: Pick<Release, "epoch">): string =>
  `k3ts, a Kubernetes cluster in one executable.

Copyright ${new Date(epoch * 1000).getUTCFullYear()} the k3ts developers
License: Apache-2.0

  On Debian systems, the text of the Apache License 2.0 is in
  /usr/share/common-licenses/Apache-2.0.

The executable contains programs and libraries of others, under the MIT, ISC,
BSD, Apache, GPL and LGPL licenses. Which they are, where their sources are,
and the texts of their licenses with their copyright notices, is in
/usr/share/doc/k3ts/${LICENSES}.gz.
`
