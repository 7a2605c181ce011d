import { expect, test } from "bun:test"
import { podOf } from "../testing/pod.ts"
import { sysctlProblem } from "./sysctls.ts"

test.each<[string, string[], string | undefined]>([
  ["net.ipv4.tcp_syncookies", [], undefined],
  ["net.core.somaxconn", [], 'forbidden sysctl: "net.core.somaxconn" not allowlisted'],
  ["net.core.somaxconn", ["net.core.somaxconn"], undefined],
  ["net/core/somaxconn", ["net.core.*"], undefined],
  ["kernel.msgmax", ["kernel.shm*"], 'forbidden sysctl: "kernel.msgmax" not allowlisted'],
])("a pod with the sysctl %s, where %p are allowed, has this problem: %p", (name, allowed, problem) => {
  const pod = podOf({ securityContext: { sysctls: [{ name, value: "1" }] }, containers: [{ name: "c", image: "i" }] })
  expect(sysctlProblem(pod, allowed)).toBe(problem)
})
