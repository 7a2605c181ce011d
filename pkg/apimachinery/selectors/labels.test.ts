import { describe, expect, test } from "bun:test"
import { fromLabels, fromLabelSelector, parseLabelSelector } from "./labels.ts"

describe("label selectors", () => {
  test.each([
    ["", {}, true],
    ["app=web", { app: "web" }, true],
    ["app=web", {}, false],
    ["app==web", { app: "web" }, true],
    ["app!=web", {}, true],
    ["app!=web", { app: "web" }, false],
    ["app", { app: "" }, true],
    ["!app", { app: "" }, false],
    ["!app", {}, true],
    ["app in (a,b)", { app: "b" }, true],
    ["app notin (a,b)", { app: "b" }, false],
    ["app notin (a,b)", {}, true],
    ["x in (foo,,baz),y,z notin ()", { x: "", y: "1", z: "2" }, true],
    ["app=", { app: "" }, true],
    ["app=,b", { app: "", b: "" }, true],
    ["n>3", { n: "4" }, true],
    ["n<3", { n: "4" }, false],
    ["n>3", { n: "x" }, false],
    ["in in (in)", { in: "in" }, true],
    ["a.b/c = d", { "a.b/c": "d" }, true],
    ["constructor", {}, false],
  ] as const)("%p on %p: %p", (text, labels, matches) => {
    expect(parseLabelSelector(text).matches(labels)).toBe(matches)
  })

  test.each([
    [",", "found ',', expected: !, identifier, or 'end of string'"],
    ["a,", "found '', expected: identifier after ','"],
    ["a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ["a in b", "unable to parse requirement: found 'b' expected: '('"],
    ["a=b=c", "found '=', expected: ',' or 'end of string'"],
    ["a in (b", "unable to parse requirement: found '', expected: ',' or ')'"],
    ["-a=b", 'unable to parse requirement: <nil>: Invalid value: "-a": name part must consist of'],
    ["a=-b", 'unable to parse requirement: values[0][a]: Invalid value: "-b": a valid label must be'],
    ["a>x", "for 'Gt', 'Lt' operators, the value must be an integer"],
  ])("%p is refused with upstream's message", (text, message) => {
    expect(() => parseLabelSelector(text)).toThrow(message)
  })

  test("the text form has sorted keys and sorted values without duplicates", () => {
    expect(parseLabelSelector("b in (y,x,x),a!=1,!c").toString()).toBe("a!=1,b in (x,y),!c")
    expect(fromLabels({ b: "2", a: "1" }).toString()).toBe("a=1,b=2")
  })

  test("an absent LabelSelector matches nothing, and an empty one matches everything", () => {
    expect(fromLabelSelector(undefined).matches({})).toBe(false)
    expect(fromLabelSelector({}).matches({ a: "b" })).toBe(true)
  })

  test("a LabelSelector is compiled once", () => {
    // given a selector with both parts
    const selector = {
      matchLabels: { app: "web" },
      matchExpressions: [{ key: "tier", operator: "In", values: ["b", "a"] }],
    }
    // when it is compiled twice
    const matcher = fromLabelSelector(selector)
    // then the same matcher comes back, and it wants all conditions
    expect(fromLabelSelector(selector)).toBe(matcher)
    expect(matcher.matches({ app: "web", tier: "a" })).toBe(true)
    expect(matcher.matches({ app: "web" })).toBe(false)
    expect(matcher.toString()).toBe("app=web,tier in (a,b)")
  })
})
