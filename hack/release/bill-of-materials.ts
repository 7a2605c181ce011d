import { createHash } from "node:crypto"
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { bundledPackages, type BundledPackage } from "./bundle.ts"
import { executableName } from "./executables.ts"
import { BUSYBOX } from "./pinned.ts"
import type { PinnedPackage } from "./debian-archive.ts"
import { releaseDate, type Maker, type Release } from "./release.ts"
import { ARCHITECTURES, type Architecture } from "./architectures.ts"
import { runtimePackage } from "./runtimes.ts"

/** What the bill tells of an executable. */
export interface ExecutableParts {
  readonly architecture: Architecture
  /** In hexadecimal. */
  readonly sha256: string
  readonly runtime: { readonly name: string; readonly version: string; readonly integrity: string }
}

/** Writes what the executables are made of, as SPDX 2.3 in JSON. */
export const makeBillOfMaterials: Maker = async (release) => {
  const { version, root, output, executables } = release
  const lockFile = await readFile(join(root, "package-lock.json"), "utf8")
  const parts = await Promise.all(
    ARCHITECTURES.map(async (architecture) => ({
      architecture,
      sha256: createHash("sha256")
        .update(await readFile(executables[architecture]))
        .digest("hex"),
      runtime: runtimePackage(lockFile, architecture),
    })),
  )
  const name = `k3ts-${version}.spdx.json`
  const bill = billOfMaterials(release, parts, await bundledPackages(release), BUSYBOX)
  await writeFile(join(output, name), `${JSON.stringify(bill, undefined, 2)}\n`)
  return [name]
}

/** Returns an SPDX document. Source: SPDX 2.3, and its schema for JSON. */
export function billOfMaterials(
  release: Pick<Release, "version" | "commit" | "epoch">,
  executables: readonly ExecutableParts[],
  libraries: readonly BundledPackage[],
  busybox: PinnedPackage,
) {
  const { version, commit } = release
  return {
    spdxVersion: "SPDX-2.3",
    dataLicense: "CC0-1.0",
    SPDXID: "SPDXRef-DOCUMENT",
    name: `k3ts-${version}`,
    documentNamespace: `https://spdx.org/spdxdocs/k3ts-${version}-${commit}`,
    creationInfo: { created: releaseDate(release), creators: ["Tool: k3ts-release"] },
    packages: [
      ...executables.flatMap(({ architecture, sha256, runtime }) => [
        {
          ...spdxPackage(`k3ts-${architecture}`, "k3ts", version, "Apache-2.0"),
          packageFileName: executableName(architecture),
          primaryPackagePurpose: "APPLICATION",
          checksums: [{ algorithm: "SHA256", checksumValue: sha256 }],
          sourceInfo: `commit ${commit}`,
        },
        {
          ...npmPackage(runtime.name, runtime.version, "MIT", runtime.integrity),
          comment: "Contains JavaScriptCore (LGPL-2.0) and other libraries: see THIRD_PARTY_LICENSES.txt",
        },
        {
          ...spdxPackage(`${busybox.name}-${architecture}`, busybox.name, busybox.version, "GPL-2.0-only"),
          checksums: [{ algorithm: "SHA256", checksumValue: busybox.sha256[architecture] }],
          externalRefs: [
            purl(`pkg:deb/debian/${busybox.name}@${encodeURIComponent(busybox.version)}?arch=${architecture}`),
          ],
        },
      ]),
      ...libraries.map(({ name, version, license, integrity }) => npmPackage(name, version, license, integrity)),
    ],
    relationships: executables.flatMap(({ architecture, runtime }) => {
      const executable = spdxId(`k3ts-${architecture}`)
      const contains = (id: string) => ({
        spdxElementId: executable,
        relationshipType: "CONTAINS",
        relatedSpdxElement: id,
      })
      return [
        { spdxElementId: "SPDXRef-DOCUMENT", relationshipType: "DESCRIBES", relatedSpdxElement: executable },
        contains(spdxId(runtime.name)),
        contains(spdxId(`${busybox.name}-${architecture}`)),
        ...libraries.map(({ name }) => contains(spdxId(name))),
      ]
    }),
  }
}

/** Letters, digits, dots and dashes are all that SPDX allows. */
const spdxId = (name: string): string => `SPDXRef-Package-${name.replaceAll(/[^A-Za-z0-9.-]/g, "-")}`

const spdxPackage = (id: string, name: string, version: string, license: string) => ({
  SPDXID: spdxId(id),
  name,
  versionInfo: version,
  downloadLocation: "NOASSERTION",
  filesAnalyzed: false,
  licenseConcluded: license,
  licenseDeclared: license,
  copyrightText: "NOASSERTION",
})

const npmPackage = (name: string, version: string, license: string, integrity: string) => ({
  ...spdxPackage(name, name, version, license),
  checksums: [
    {
      algorithm: "SHA512",
      checksumValue: Buffer.from(integrity.slice("sha512-".length), "base64").toString("hex"),
    },
  ],
  externalRefs: [purl(`pkg:npm/${name.replace("@", "%40")}@${version}`)],
})

const purl = (locator: string) => ({
  referenceCategory: "PACKAGE-MANAGER",
  referenceType: "purl",
  referenceLocator: locator,
})
