import { afterAll, beforeAll, describe, expect, test } from "bun:test"
import {
  chownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parse } from "yaml"
import { buildKubeconfig } from "../../pkg/pki/kubeconfig.ts"
import { mergeIntoFile, mergeKubeconfig, usersKubeconfig } from "./kubeconfig-merge.ts"

const OTHER = `# my clusters
apiVersion: v1
kind: Config
clusters:
- name: work
  cluster: {server: "https://work.example.org"} # slow
contexts:
- name: work
  context: {cluster: work, user: me}
current-context: work
users:
- name: me
  user: {token: secret}
`
const added = buildKubeconfig({ server: "https://127.0.0.1:6443", caPem: "CA", user: { token: "t" }, name: "k3ts" })
const names = (text: string) => {
  const { clusters, users, contexts, "current-context": current } = parse(text) as typeof added
  return { current, lists: [clusters, users, contexts].map((list) => list.map(({ name }) => name)) }
}

describe("mergeKubeconfig", () => {
  test("adds a cluster with its user and context, and leaves other entries unchanged", () => {
    const merged = mergeKubeconfig(OTHER, added)
    expect(names(merged)).toEqual({
      current: "work",
      lists: [
        ["work", "k3ts"],
        ["me", "k3ts"],
        ["work", "k3ts"],
      ],
    })
    expect(merged).toContain("# my clusters")
    expect(merged).toContain("# slow")
  })

  test("replaces the entries of an earlier merge", () => {
    const again = buildKubeconfig({ server: "https://[::1]:6443", caPem: "CA", user: { token: "u" }, name: "k3ts" })
    const merged = mergeKubeconfig(mergeKubeconfig(OTHER, added), again)
    expect(names(merged).lists[0]).toEqual(["work", "k3ts"])
    expect(merged).toContain("https://[::1]:6443")
    expect(merged).not.toContain("127.0.0.1")
  })

  test.each(["", "apiVersion: v1\nkind: Config\nclusters: null\ncontexts: []\n"])(
    "makes a kubeconfig with the new context as the current one from %j",
    (text) => {
      expect(names(mergeKubeconfig(text, added))).toEqual({ current: "k3ts", lists: [["k3ts"], ["k3ts"], ["k3ts"]] })
    },
  )

  test.each<{ text: string; wants: string }>([
    { text: "a: [", wants: "it is not YAML: " },
    { text: "- a", wants: "it is not a map, as a kubeconfig is" },
    { text: "clusters: {a: b}", wants: "its clusters are not a list" },
  ])("refuses $text", ({ text, wants }) => expect(() => mergeKubeconfig(text, added)).toThrow(wants))
})

describe("mergeIntoFile", () => {
  let folder: string
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "k3ts-merge-"))
  })
  afterAll(() => rmSync(folder, { recursive: true }))

  test("creates the file and its folder with permissions for the owner only", () => {
    const path = join(folder, "new/.kube/config")
    mergeIntoFile(path, added)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(names(readFileSync(path, "utf8")).current).toBe("k3ts")
  })

  test.skipIf(process.getuid?.() !== 0)("creates both for the owner of the parent folder when root merges", () => {
    const [home, nobody] = [join(folder, "home"), 65_534]
    mkdirSync(home)
    chownSync(home, nobody, nobody)
    mergeIntoFile(join(home, ".config/kube/config"), added)
    const made = [".config", ".config/kube", ".config/kube/config"].map((name) => statSync(join(home, name)))
    expect(made.map(({ uid, gid }) => [uid, gid])).toEqual(Array(3).fill([nobody, nobody]))
  })

  test("keeps the mode of the file, and follows a symbolic link", () => {
    const [file, link] = [join(folder, "kept"), join(folder, "link")]
    writeFileSync(file, OTHER, { mode: 0o640 })
    symlinkSync(file, link)
    mergeIntoFile(link, added)
    expect(statSync(file).mode & 0o777).toBe(0o640)
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
    expect(names(readFileSync(file, "utf8")).lists[0]).toEqual(["work", "k3ts"])
  })

  test("names a file that it cannot use, and does not change it", () => {
    const path = join(folder, "wrong")
    mkdirSync(folder, { recursive: true })
    writeFileSync(path, "a: [")
    expect(() => mergeIntoFile(path, added)).toThrow(`Cannot merge into ${path}: it is not YAML`)
    expect(readFileSync(path, "utf8")).toBe("a: [")
  })
})

test.each<{ env: Record<string, string>; wants: string }>([
  { env: { HOME: "/home/ann" }, wants: "/home/ann/.kube/config" },
  { env: { HOME: "/home/ann", KUBECONFIG: "" }, wants: "/home/ann/.kube/config" },
  { env: { HOME: "/home/ann", KUBECONFIG: "/a:/b" }, wants: "/a" },
])("the user's kubeconfig of $env is $wants", ({ env, wants }) => expect(usersKubeconfig(env)).toBe(wants))
