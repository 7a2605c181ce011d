import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { licencesOf } from "../package/licenses.ts"
import { bundledPackages } from "./bundle.ts"
import { BUSYBOX, LIBC } from "./pinned.ts"
import type { Maker, Release } from "./release.ts"
import { runtimePackage } from "./runtimes.ts"

export const LICENSES = "THIRD_PARTY_LICENSES.txt"

/** Debian has the texts of the licences that many programs have in its essential package base-files. */
const COMMON_LICENSES = "/usr/share/common-licenses"

/** Writes the licences of everything of others that is in the files of a release. */
export const makeLicenses: Maker = async (release) => {
  await writeFile(join(release.output, LICENSES), await thirdPartyLicenses(release))
  return [LICENSES]
}

async function thirdPartyLicenses(release: Release): Promise<string> {
  const { root } = release
  const bun = runtimePackage(await readFile(join(root, "package-lock.json"), "utf8"), "amd64").version
  const common = async (name: string) => `${name}\n\n${(await readFile(join(COMMON_LICENSES, name), "utf8")).trim()}\n`
  const libraries = (await bundledPackages(release)).map(({ folder }) => folder)
  return [
    `k3ts itself is under the Apache License 2.0. This file is about what its executables and images contain of others.

The executables contain Bun ${bun} (https://bun.com), which is under the MIT License. Bun contains JavaScriptCore and
other parts of WebKit under version 2 of the GNU Library General Public License, TinyCC under version 2.1 of the GNU
Lesser General Public License, and libraries under the licences that are named in
https://github.com/oven-sh/bun/blob/bun-v${bun}/LICENSE.md. That file tells, too, where the sources of WebKit are and how
to build Bun with changes to them. The executable of k3ts with such a Bun is built of k3ts' sources at this commit:

    ${release.commit}
    hack/compile.sh FILE --compile-executable-path=BUN

The images of the examples, inside the executables, contain BusyBox of Debian's package ${BUSYBOX.name}
${BUSYBOX.version}, with some bytes changed by hack/images/images.ts, under version 2 of the GNU General Public License.
Its sources are those of Debian's source package busybox: https://snapshot.debian.org/package/busybox/.

The container images of k3ts contain the GNU C Library of Debian's package ${LIBC.name} ${LIBC.version}, under version
2.1 or later of the GNU Lesser General Public License. Its sources are those of Debian's source package glibc:
https://snapshot.debian.org/package/glibc/.

The texts of these licences stand at the end.
`,
    await licencesOf(root, libraries),
    MIT,
    await common("LGPL-2"),
    await common("LGPL-2.1"),
    await common("GPL-2"),
  ].join(`\n${"=".repeat(80)}\n\n`)
}

const MIT = `MIT License

Permission is hereby granted, free of charge, to any person obtaining a copy of this software and associated
documentation files (the "Software"), to deal in the Software without restriction, including without limitation the
rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell copies of the Software, and to permit
persons to whom the Software is furnished to do so, subject to the following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial portions of the
Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT LIMITED TO THE
WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO EVENT SHALL THE AUTHORS OR
COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER IN AN ACTION OF CONTRACT, TORT OR
OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE USE OR OTHER DEALINGS IN THE SOFTWARE.
`
