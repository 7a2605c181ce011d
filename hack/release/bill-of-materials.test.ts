import { describe, expect, test } from "bun:test"
import { billOfMaterials } from "./bill-of-materials.ts"
import { packagesOf } from "./bundle.ts"
import { BUSYBOX } from "./pinned.ts"

const lockFile = JSON.stringify({
  packages: {
    "node_modules/@scope/one": { version: "1.0.0", license: "MIT", integrity: "sha512-AAEC" },
    "node_modules/two": { version: "2.0.0", license: "ISC", integrity: "sha512-AwQF" },
    "node_modules/two/node_modules/@scope/one": { version: "1.5.0", license: "MIT", integrity: "sha512-BgcI" },
    "node_modules/no-license": { version: "3.0.0", integrity: "sha512-CQoL" },
  },
})
const bundle = (...files: readonly string[]) =>
  JSON.stringify({ inputs: Object.fromEntries(files.map((file) => [file, { bytes: 1 }])) })

describe("the packages of a bundle", () => {
  test("are those of its files, once each, with version, licence and digest of the lock file", () => {
    const files = ["cmd/k3ts/main.ts", "node_modules/two/b.js", "node_modules/two/a.js", "node_modules/@scope/one/a.js"]
    expect(packagesOf(bundle(...files), lockFile)).toEqual([
      {
        name: "@scope/one",
        folder: "node_modules/@scope/one",
        version: "1.0.0",
        license: "MIT",
        integrity: "sha512-AAEC",
      },
      { name: "two", folder: "node_modules/two", version: "2.0.0", license: "ISC", integrity: "sha512-AwQF" },
    ])
  })

  test("are found in the folder of another package that has its own version of them", () => {
    expect(packagesOf(bundle("node_modules/two/node_modules/@scope/one/a.js"), lockFile)).toMatchObject([
      { name: "@scope/one", folder: "node_modules/two/node_modules/@scope/one", version: "1.5.0" },
    ])
  })

  test.each([
    { title: "without a licence", path: "node_modules/no-license" },
    { title: "that is missing in the lock file", path: "node_modules/unknown" },
  ])("cannot contain a package $title", ({ path }) => {
    expect(() => packagesOf(bundle(`${path}/a.js`), lockFile)).toThrow(`package-lock.json: expected ${path}`)
  })
})

describe("the bill of materials", () => {
  const runtime = (name: string) => ({ name, version: "1.4.4", integrity: "sha512-AAEC" })
  const libraries = packagesOf(bundle("node_modules/@scope/one/a.js", "node_modules/two/a.js"), lockFile)
  const bill = billOfMaterials(
    { version: "0.1.0", commit: "c".repeat(40), epoch: 1_700_000_000 },
    [
      { architecture: "amd64", sha256: "a".repeat(64), runtime: runtime("@oven/bun-linux-x64") },
      { architecture: "arm64", sha256: "b".repeat(64), runtime: runtime("@oven/bun-linux-aarch64") },
    ],
    libraries,
    BUSYBOX,
  )

  test("contains every part of each executable, once and as SPDX allows", () => {
    const ids = bill.packages.map(({ SPDXID }) => SPDXID)
    expect(new Set(ids).size).toBe(ids.length)
    for (const id of ids) expect(id).toMatch(/^SPDXRef-[A-Za-z0-9.-]+$/)
    for (const architecture of ["amd64", "arm64"]) {
      const executable = `SPDXRef-Package-k3ts-${architecture}`
      const related = bill.relationships.filter(({ spdxElementId }) => spdxElementId === executable)
      // The runtime, busybox and two libraries.
      expect(related).toHaveLength(4)
      for (const { relatedSpdxElement } of related) expect(ids).toContain(relatedSpdxElement)
      expect(bill.relationships).toContainEqual({
        spdxElementId: "SPDXRef-DOCUMENT",
        relationshipType: "DESCRIBES",
        relatedSpdxElement: executable,
      })
    }
  })

  test("has digests and names of packages in the common formats", () => {
    expect(bill.packages.find(({ name }) => name === "@scope/one")).toMatchObject({
      checksums: [{ algorithm: "SHA512", checksumValue: "000102" }],
      externalRefs: [{ referenceType: "purl", referenceLocator: "pkg:npm/%40scope/one@1.0.0" }],
    })
  })

  test("has the time of the commit, so that it can be reproduced", () => {
    expect(bill.creationInfo.created).toBe("2023-11-14T22:13:20Z")
  })
})
