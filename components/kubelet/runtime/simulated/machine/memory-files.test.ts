import { expect, test } from "bun:test"
import { MemoryFiles } from "./memory-files.ts"

function filled(): MemoryFiles {
  const files = new MemoryFiles()
  files.put("/var/pods/a/token", "t")
  files.put("/var/pods/a/ca.crt", "c")
  files.put("/var/pods/b/token", "u")
  return files
}

test("a folder lists its direct entries, in the order of their creation", async () => {
  const files = filled()
  expect(await files.list("/var/pods")).toEqual(["a", "b"])
  expect(await files.list("/var/pods/a")).toEqual(["token", "ca.crt"])
  expect(await files.list("/var/pods/a/token")).toEqual([])
  expect(files.below("/var")).toEqual(["pods/a/token", "pods/a/ca.crt", "pods/b/token"])
})

test("files, folders and missing paths are distinguished", async () => {
  const files = filled()
  await files.makeFolder("/var/pods/c/empty")
  const seen = (path: string) => [files.has(path), files.isFolder(path), files.get(path)]
  expect(seen("/var/pods/a")).toEqual([true, true, undefined])
  expect(seen("/var/pods/a/token")).toEqual([true, false, "t"])
  expect(seen("/var/pods/c/empty")).toEqual([true, true, undefined])
  expect(seen("/var/pods/a/token/more")).toEqual([false, false, undefined])
  expect(seen("/var/pod")).toEqual([false, false, undefined])
})

test("renaming a folder moves all its content", async () => {
  const files = filled()
  await files.rename("/var/pods/a", "/var/pods/c")
  expect(await files.list("/var/pods")).toEqual(["b", "c"])
  expect(files.below("/var/pods/c")).toEqual(["token", "ca.crt"])
  expect(files.has("/var/pods/a")).toBe(false)
  await expect(files.rename("/var/pods/a", "/var/pods/d")).rejects.toThrow("ENOENT")
})

test("a file that is renamed to another's name is a different file", async () => {
  const files = filled()
  const open = await files.open("/var/pods/a/token")
  await files.rename("/var/pods/b/token", "/var/pods/a/token")
  expect(files.get("/var/pods/a/token")).toBe("u")
  expect(await open?.isCurrent()).toBe(false)
  expect(await files.list("/var/pods/a")).toEqual(["token", "ca.crt"])
})

test("a watch of a file reports its writes, and the removal of a folder above it", async () => {
  const files = filled()
  let heard = 0
  const off = files.watch("/var/pods/a/token", () => heard++)
  files.append("/var/pods/a/token", "2")
  files.put("/var/pods/a/ca.crt", "d")
  expect([heard, files.get("/var/pods/a/token")]).toEqual([1, "t2"])
  await files.remove("/var/pods")
  expect([heard, files.has("/var"), files.has("/var/pods")]).toEqual([2, true, false])
  off()
  files.put("/var/pods/a/token", "new")
  expect(heard).toBe(2)
})

test("a token is read only when its file is, and is the same file when it is written again", async () => {
  const files = new MemoryFiles()
  let reads = 0
  const late = (text: string) => ({
    get token() {
      reads++
      return text
    },
  })
  // when one is written twice, and then another
  const [first, second] = [late("first"), late("second")]
  expect([files.replace("/token", first), files.replace("/token", first), files.replace("/token", second)]).toEqual([
    true,
    false,
    true,
  ])
  expect(reads).toBe(0)
  // then a reader gets the newest, also one that opened the file before
  expect(files.get("/token")).toBe("second")
  const open = (await files.open("/token"))!
  expect([files.replace("/token", second), files.replace("/token", first)]).toEqual([false, true])
  expect(Buffer.from(await open.read(0, 10)).toString()).toBe("first")
  expect([files.replace("/token", "first"), files.replace("/token", "text")]).toEqual([false, true])
})

test("a search begins anew where the folder of the last one was removed, renamed or replaced", async () => {
  // given a search in a folder, before each change of a folder above it
  const files = filled()
  const search = () => expect(files.get("/var/pods/a/token")).toBe("t")
  search()
  // when it is renamed
  await files.rename("/var/pods", "/var/others")
  // then
  expect([files.get("/var/pods/a/token"), files.get("/var/others/a/token")]).toEqual([undefined, "t"])
  // and so it is when it is removed, or when a file takes its place
  files.put("/var/pods/a/token", "t")
  search()
  await files.remove("/var/pods")
  expect(files.get("/var/pods/a/token")).toBeUndefined()
  files.put("/var/pods/a/token", "t")
  search()
  files.put("/var/pods", "a file")
  expect([files.get("/var/pods/a/token"), files.get("/var/pods")]).toEqual([undefined, "a file"])
  // and empty names are not there, also below the last folder
  files.put("/var//log//x", "y")
  expect([files.get("/var/log/x"), files.get("/var/log//x"), files.get("/var//log/x")]).toEqual([
    "y",
    undefined,
    undefined,
  ])
})
