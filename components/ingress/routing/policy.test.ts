import { expect, test } from "bun:test"
import { DEFAULT_POLICY, policyOf } from "./policy.ts"

const KNOWN = "connect-timeout, response-timeout, idle-timeout, max-body-size, retries, redirect-to-https"

test.each([
  { annotation: "connect-timeout", value: "250ms", wants: { connectMs: 250 } },
  { annotation: "response-timeout", value: "1m30s", wants: { responseMs: 90_000 } },
  { annotation: "idle-timeout", value: "24h", wants: { idleMs: 86_400_000 } },
  { annotation: "max-body-size", value: "8Mi", wants: { maxBodyBytes: 8_388_608 } },
  { annotation: "max-body-size", value: "0", wants: { maxBodyBytes: Infinity } },
  { annotation: "retries", value: "0", wants: { retries: 0 } },
  { annotation: "redirect-to-https", value: "true", wants: { redirectToHttps: true } },
])("$annotation $value is accepted", ({ annotation, value, wants }) => {
  expect(policyOf({ [`ingress.k3ts.dev/${annotation}`]: value })).toEqual({
    policy: { ...DEFAULT_POLICY, ...wants },
    problems: [],
  })
})

test.each([
  { annotation: "connect-timeout", value: "0s", form: "a duration from 1ms to 24h, such as 5s" },
  { annotation: "idle-timeout", value: "5", form: "a duration from 1ms to 24h, such as 5m" },
  { annotation: "response-timeout", value: "25h", form: "a duration from 1ms to 24h, such as 60s" },
  { annotation: "max-body-size", value: "-1", form: "a quantity of bytes, such as 8Mi; 0 for any" },
  { annotation: "max-body-size", value: "big", form: "a quantity of bytes, such as 8Mi; 0 for any" },
  { annotation: "retries", value: "11", form: "a number from 0 to 10" },
  { annotation: "redirect-to-https", value: "yes", form: "true or false" },
])("$annotation $value is reported and ignored", ({ annotation, value, form }) => {
  const name = `ingress.k3ts.dev/${annotation}`
  expect(policyOf({ [name]: value })).toEqual({
    policy: DEFAULT_POLICY,
    problems: [`annotation ${name} has the value "${value}": it must be ${form}`],
  })
})

test("annotations with other prefixes are ignored, and an unknown one with our prefix is reported", () => {
  const { policy, problems } = policyOf({ "example.com/retries": "x", "ingress.k3ts.dev/constructor": "1" })
  expect({ policy, problems }).toEqual({
    policy: DEFAULT_POLICY,
    problems: [`annotation ingress.k3ts.dev/constructor is not known: ingress.k3ts.dev/ has ${KNOWN}`],
  })
})
