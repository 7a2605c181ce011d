import { afterEach, beforeEach, describe, expect, test } from "bun:test"
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { kubeletRoots, madeInKubeletRoot, takeKubeletRoot } from "./kubelet-root.ts"

describe("the folder of the kubelet's files", () => {
  let folder: string
  let dataDir: string
  let own: string
  let usual: string
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "k3ts-root-"))
    dataDir = join(folder, "data")
    own = join(dataDir, "agent/kubelet")
    usual = join(folder, "kubelet")
    mkdirSync(dataDir)
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  test("is in the data directory unless another is wanted", () => {
    expect(takeKubeletRoot(dataDir, undefined)).toEqual({ root: own })
    expect(kubeletRoots(dataDir)).toEqual([own])
    expect(madeInKubeletRoot(dataDir)).toEqual({ own: [], shared: [] })
  })

  test("is taken, found again, and given up with all that the kubelet made there and nothing else", () => {
    // given a folder in which a device plugin and a driver have theirs
    mkdirSync(join(usual, "device-plugins"), { recursive: true })
    mkdirSync(join(usual, "plugins/csi.example.com"), { recursive: true })
    // when
    expect(takeKubeletRoot(dataDir, usual)).toEqual({ root: usual })
    expect(takeKubeletRoot(dataDir, usual)).toEqual({ root: usual })
    mkdirSync(join(usual, "pods"))
    // then
    expect(kubeletRoots(dataDir)).toEqual([own, usual])
    const made = madeInKubeletRoot(dataDir)
    expect(made.own).toEqual([join(usual, "pods"), join(usual, ".k3ts")])
    expect(made.shared).toEqual([join(usual, "plugins"), usual])
  })

  test.each([
    ["a kubelet of kubeadm", (root: string) => writeFileSync(join(root, "kubeadm-flags.env"), ""), "another kubelet"],
    ["the kubelet of k3s", (root: string) => writeFileSync(join(root, "cpu_manager_state"), "{}"), "another kubelet"],
    ["another k3ts", (root: string) => writeFileSync(join(root, ".k3ts"), `${tmpdir()}\n`), tmpdir()],
  ])("stays in the data directory where the wanted one belongs to %s", (_title, given, owner) => {
    mkdirSync(usual)
    given(usual)
    const before = readdirSync(usual)
    expect(takeKubeletRoot(dataDir, usual)).toEqual({ root: own, kept: `${usual} is in use by ${owner}` })
    expect([readdirSync(usual), kubeletRoots(dataDir)]).toEqual([before, [own]])
    expect(madeInKubeletRoot(dataDir).own).toEqual([])
  })

  test("moves only when no pod has its volumes in the earlier one", () => {
    // given pods that have run since before an upgrade
    mkdirSync(join(own, "pods/u1"), { recursive: true })
    expect(takeKubeletRoot(dataDir, usual)).toEqual({ root: own, kept: `pods have their volumes in ${own}` })
    // when they have gone
    rmSync(join(own, "pods/u1"), { recursive: true })
    expect(takeKubeletRoot(dataDir, usual)).toEqual({ root: usual })
    // and so it is on the way back
    mkdirSync(join(usual, "pods/u2"), { recursive: true })
    expect(takeKubeletRoot(dataDir, undefined)).toEqual({ root: usual, kept: `pods have their volumes in ${usual}` })
    rmSync(join(usual, "pods/u2"), { recursive: true })
    expect(takeKubeletRoot(dataDir, undefined)).toEqual({ root: own })
    expect(kubeletRoots(dataDir)).toEqual([own])
  })

  test("is taken over from a data directory that was removed by hand, and never through a link", () => {
    mkdirSync(usual)
    writeFileSync(join(usual, ".k3ts"), `${join(folder, "gone")}\n`)
    expect(takeKubeletRoot(dataDir, usual)).toEqual({ root: usual })
    // given a link where the owner's name is written
    const other = join(folder, "other")
    mkdirSync(other)
    symlinkSync(join(folder, "elsewhere"), join(other, ".k3ts"))
    expect(() => takeKubeletRoot(dataDir, other)).toThrow("EEXIST")
    expect(existsSync(join(folder, "elsewhere"))).toBe(false)
  })
})
