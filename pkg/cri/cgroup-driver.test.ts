import { expect, test } from "bun:test"
import { configuredCgroupDriver } from "./cgroup-driver.ts"

const config = (options: object | null, name = "runc") => ({
  containerd: { defaultRuntimeName: name, runtimes: { runc: { runtimeType: "io.containerd.runc.v2", options } } },
})
test.each([
  { title: "of a runtime with systemd", given: JSON.stringify(config({ SystemdCgroup: true })), wants: "systemd" },
  { title: "of Debian's containerd", given: JSON.stringify(config({ SystemdCgroup: false })), wants: "cgroupfs" },
  { title: "of a runtime without options", given: JSON.stringify(config(null)), wants: "cgroupfs" },
  { title: "with a runtime that is not configured", given: JSON.stringify(config({}, "kata")), wants: undefined },
  { title: "of another form", given: "[]", wants: undefined },
  { title: "that is no JSON", given: "config", wants: undefined },
  { title: "that is missing", given: undefined, wants: undefined },
] as const)("the cgroup driver is read from a configuration $title", ({ given, wants }) => {
  expect(configuredCgroupDriver(given)).toBe(wants)
})
