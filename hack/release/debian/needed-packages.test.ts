import { expect, test } from "bun:test"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { neededPackages } from "./control.ts"

const root = join(import.meta.dirname, "../../..")
const read = (path: string): string => readFileSync(join(root, path), "utf8")

/** Returns, for each package that k3ts needs, the first of its names that is in `names`, or else its first name. */
const chosenOf = (names: readonly string[]): readonly string[] =>
  neededPackages().map((alternatives) => alternatives.find((name) => names.includes(name)) ?? alternatives[0]!)

/** What install.sh brings without Debian's package of k3ts. */
const installed = /^readonly PACKAGES="([^"]*)"/m.exec(read("hack/release/install.sh"))![1]!.split(" ")
/** What hack/setup.sh brings in every case, which the conditions after it add to. */
const setUp = [
  .../missing_packages\(\) \{([\s\S]*?)\n {2}if /.exec(read("hack/setup.sh"))![1]!.matchAll(/echo (\S+)/g),
].map(([, name]) => name!)

test.each<{ title: string; names: readonly string[]; leaves: readonly string[]; adds: readonly string[] }>([
  // Every Debian has libc6, and only the package recommends kubectl.
  { title: "install.sh", names: installed, leaves: ["libc6", "kubectl"], adds: [] },
  // Machines of developers have mount, kmod and certificates. Images of tests are made of busybox.
  {
    title: "hack/setup.sh",
    names: setUp,
    leaves: ["libc6", "mount", "ca-certificates", "kmod"],
    adds: ["busybox-static"],
  },
])("$title installs the packages that the Debian package of k3ts depends on", ({ names, leaves, adds }) => {
  const wanted = chosenOf(names).filter((name) => !leaves.includes(name))
  expect([...names].sort()).toEqual([...wanted, ...adds].sort())
})
