import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { readConfig, type ConfigVocabulary } from "./config-file.ts"
import { UsageError } from "./usage-error.ts"

const vocabulary: ConfigVocabulary = {
  keys: ["disable", "tls-san", "node-name"],
  foreign: {
    "disable-dns": {
      kind: "boolean",
      adds: true,
      becomes: (value) => (value === "true" ? [["disable", "dns"]] : []),
    },
    token: { answer: "there are no agents" },
  },
}

let root: string
let folders = 0
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "k3ts-config-"))
})
afterAll(() => rmSync(root, { recursive: true }))

/** Writes files, named from `config.yaml`, and returns the path of that one. */
function written(files: Readonly<Record<string, string>>): string {
  const folder = join(root, String(folders++))
  mkdirSync(join(folder, "config.yaml.d"), { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return join(folder, "config.yaml")
}
const read = (files: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    [...readConfig(written(files), vocabulary, { optional: true }).entries].map(([flag, { values }]) => [flag, values]),
  )

describe("the files of the folder beside the config file", () => {
  test.each<{ title: string; files: Record<string, string>; wants: Record<string, string[]> }>([
    {
      title: "are read without the config file",
      files: { "config.yaml.d/a.yaml": "node-name: a" },
      wants: { "node-name": ["a"] },
    },
    {
      title: "override the config file, in the order of their names",
      files: {
        "config.yaml": "node-name: base\ntls-san: [x]",
        "config.yaml.d/10-b.yaml": "node-name: ten",
        "config.yaml.d/20-a.yml": "node-name: twenty",
      },
      wants: { "node-name": ["twenty"], "tls-san": ["x"] },
    },
    {
      title: "replace a list, or add to it with a key that ends with +",
      files: {
        "config.yaml": "tls-san: [x]\ndisable: [dns]",
        "config.yaml.d/a.yaml": "tls-san: [y]\ndisable+: [ingress]",
        "config.yaml.d/b.yaml": "tls-san+: z",
      },
      wants: { "tls-san": ["y", "z"], disable: ["dns", "ingress"] },
    },
    {
      title: "are only those that end with .yaml or .yml",
      files: { "config.yaml.d/a.yaml.bak": "wrong: [", "config.yaml.d/README": "no config" },
      wants: {},
    },
    {
      title: "can have flags of k3s, which add to the list of the flag that replaces them",
      files: { "config.yaml": "disable: [ingress]", "config.yaml.d/a.yaml": "disable-dns: true" },
      wants: { disable: ["ingress", "dns"] },
    },
    {
      title: "can set one flag by two keys in one file",
      files: { "config.yaml": "disable-dns: true\ndisable: [ingress]" },
      wants: { disable: ["dns", "ingress"] },
    },
  ])("$title", ({ files, wants }) => expect(read(files)).toEqual(wants))

  test.each<{ title: string; files: Record<string, string>; wants: string }>([
    {
      title: "an unknown key",
      files: { "config.yaml": "node-name: a", "config.yaml.d/a.yaml": "node-nam: b" },
      wants: 'unknown key "node-nam" in FOLDER/config.yaml.d/a.yaml; did you mean node-name?',
    },
    {
      title: "a flag of k3s that k3ts cannot have",
      files: { "config.yaml.d/a.yaml": "token: secret" },
      wants: "token in FOLDER/config.yaml.d/a.yaml is a flag of k3s: there are no agents",
    },
  ])("$title in one of them is refused with the file's name", ({ files, wants }) => {
    const path = written(files)
    const run = () => readConfig(path, vocabulary, { optional: true })
    expect(run).toThrow(UsageError)
    expect(run).toThrow(wants.replace("FOLDER", path.replace("/config.yaml", "")))
  })
})
