import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { licencesOf } from "../../package/licenses.ts"
import { BUSYBOX } from "../pinned.ts"
import type { Release } from "../release.ts"

/** An npm package that is part of the executable. */
interface Bundled {
  readonly name: string
  readonly version: string
  readonly license: string
}

/** Of these the executable contains no code, or code whose licence the text below names. */
const WITHOUT_TEXT = ["bun", "@types/node", "undici-types"]

interface LockEntry {
  readonly version?: string
  readonly license?: string
  readonly dev?: boolean
  readonly optional?: boolean
  readonly devOptional?: boolean
}

/** Returns the packages of the lock file that the program is made of, in the order of their names. */
async function bundled(root: string): Promise<readonly Bundled[]> {
  const lock = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8")) as {
    readonly packages: Readonly<Record<string, LockEntry>>
  }
  return Object.entries(lock.packages)
    .filter(([path, { dev, optional, devOptional }]) => path !== "" && !dev && !optional && !devOptional)
    .map(([path, { version = "", license = "" }]) => ({
      name: path.replace(/^.*node_modules\//, ""),
      version,
      license,
    }))
    .filter(({ name }) => !WITHOUT_TEXT.includes(name))
}

/** Returns the texts of the licences of all npm packages in the executable. */
export const licenseTexts = async (root: string): Promise<string> =>
  licencesOf(
    root,
    (await bundled(root)).map(({ name }) => name),
  )

/** Returns the text that Debian asks for with each package. Source: Debian Policy, 12.5. */
export async function copyrightText({ root, epoch }: Pick<Release, "root" | "epoch">): Promise<string> {
  const packages = (await bundled(root)).map(({ name, version, license }) => `  ${name} ${version}: ${license}`)
  return `k3ts, a Kubernetes cluster in one executable.

Copyright ${new Date(epoch * 1000).getUTCFullYear()} the k3ts developers
License: Apache-2.0

  On Debian systems, the text of the Apache License 2.0 is in
  /usr/share/common-licenses/Apache-2.0.

The executable contains the Bun runtime (https://bun.com), under the MIT
license, with the JavaScript engine of WebKit, under version 2 of the GNU
Library General Public License, whose text is in
/usr/share/common-licenses/LGPL-2. How to build Bun, and so to link it with
another version of that engine, is described on its pages.

The images of the examples, inside the executable, contain BusyBox of Debian's
package ${BUSYBOX.name} ${BUSYBOX.version}, with some bytes changed, under
version 2 of the GNU General Public License, whose text is in
/usr/share/common-licenses/GPL-2. Debian has its sources.

It contains code of these npm packages. The texts of their licenses, with
their copyright notices, are in /usr/share/doc/k3ts/licenses.gz.

${packages.join("\n")}
`
}
