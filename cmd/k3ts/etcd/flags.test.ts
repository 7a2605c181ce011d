import { afterAll, describe, expect, test } from "bun:test"
import { mkdirSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { etcdFolder, runsEtcd } from "./flags.ts"

const base = mkdtempSync(join(tmpdir(), "k3ts-etcd-flags-"))
afterAll(() => rmSync(base, { recursive: true }))
const withEtcd = join(base, "with")
mkdirSync(etcdFolder(withEtcd), { recursive: true })

const flags = (given: object) => ({
  "data-dir": join(base, "without"),
  "datastore-endpoint": undefined,
  "cluster-init": false,
  server: undefined,
  "cluster-reset": false,
  "cluster-reset-restore-path": undefined,
  ...given,
})
const endpoint = { "datastore-endpoint": ["https://192.0.2.1:2379"] }

describe("a server runs an etcd", () => {
  test.each([
    { title: "not by default", given: {}, wants: false },
    { title: "with --cluster-init", given: { "cluster-init": true }, wants: true },
    { title: "when it joins another server", given: { server: "https://192.0.2.1:6443" }, wants: true },
    { title: "when it did so at its last start, without a flag", given: { "data-dir": withEtcd }, wants: true },
    { title: "not with --datastore-endpoint", given: { "data-dir": withEtcd, ...endpoint }, wants: false },
  ])("$title", ({ given, wants }) => expect(runsEtcd(flags(given))).toBe(wants))

  test.each([
    {
      title: "with --datastore-endpoint",
      given: { "cluster-init": true, ...endpoint },
      wants: "--cluster-init is for an etcd of our own",
    },
    {
      title: "with both --cluster-init and --server",
      given: { "cluster-init": true, server: "https://192.0.2.1:6443" },
      wants: "--cluster-init and --server exclude each other",
    },
    {
      title: "with a snapshot to restore, but no --cluster-reset",
      given: { "cluster-reset-restore-path": "/snapshot" },
      wants: "--cluster-reset-restore-path needs --cluster-reset",
    },
  ])("is refused $title", ({ given, wants }) => expect(() => runsEtcd(flags(given))).toThrow(wants))
})
