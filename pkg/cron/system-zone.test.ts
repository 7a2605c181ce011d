import { afterAll, expect, spyOn, test } from "bun:test"
import { mkdtempSync, rmSync, symlinkSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { systemZone } from "./system-zone.ts"

const directory = mkdtempSync(join(tmpdir(), "k3ts-zone-"))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const linkTo = (target: string): string => {
  const path = join(directory, target.replaceAll("/", "_"))
  symlinkSync(target, path)
  return path
}

test.each([
  ["TZ=UTC", { TZ: "UTC", localtime: "/absent" }, true],
  ["TZ before the link", { TZ: "Etc/UTC", localtime: linkTo("/usr/share/zoneinfo/Europe/Rome") }, true],
  ["Debian's link", { localtime: linkTo("/usr/share/zoneinfo/Etc/UTC") }, true],
  ["a relative link", { localtime: linkTo("../usr/share/zoneinfo/UTC") }, true],
  ["the link of another zone", { localtime: linkTo("/usr/share/zoneinfo/Europe/Berlin") }, false],
  ["TZ of another zone before the link", { TZ: "Asia/Tokyo", localtime: linkTo("/usr/share/zoneinfo/Zulu") }, false],
  ["no link", { localtime: "/absent" }, false],
])("with %s the zone is known without the platform's zone data only where it is UTC", (_, settings, known) => {
  const platform = spyOn(Intl, "DateTimeFormat")
  try {
    const zone = systemZone(settings)
    expect(platform.mock.calls.length).toBe(known ? 0 : 1)
    if (known) expect(zone).toBe("UTC")
  } finally {
    platform.mockRestore()
  }
})
