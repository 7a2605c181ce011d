import { expect, test } from "bun:test"
import { removalOf } from "./host-ports.ts"

/** The output of iptables-save with two pods that have a host port. */
const RULES = `*nat
:PREROUTING ACCEPT [0:0]
:CNI-DN-aaaa - [0:0]
:CNI-DN-bbbb - [0:0]
:CNI-HOSTPORT-DNAT - [0:0]
:CNI-HOSTPORT-MASQ - [0:0]
:CNI-HOSTPORT-SETMARK - [0:0]
-A PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT
-A POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ
-A CNI-DN-aaaa -p tcp -m tcp --dport 80 -j CNI-HOSTPORT-SETMARK
-A CNI-DN-aaaa -p tcp -m tcp --dport 80 -j DNAT --to-destination 10.42.0.2:80
-A CNI-DN-bbbb -p tcp -m tcp --dport 81 -j DNAT --to-destination 10.42.0.3:80
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \\"k3ts\\" id: \\"one\\"" -m multiport --dports 80 -j CNI-DN-aaaa
-A CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \\"k3ts\\" id: \\"two\\"" -m multiport --dports 81 -j CNI-DN-bbbb
-A CNI-HOSTPORT-MASQ -m mark --mark 0x2000/0x2000 -j MASQUERADE
COMMIT`

test("removes the rules and the chain of one pod and leaves those of another", () => {
  expect(removalOf(RULES, new Set(["one"]))).toEqual([
    '-D CNI-HOSTPORT-DNAT -p tcp -m comment --comment "dnat name: \\"k3ts\\" id: \\"one\\"" -m multiport ' +
      "--dports 80 -j CNI-DN-aaaa",
    "-F CNI-DN-aaaa",
    "-X CNI-DN-aaaa",
  ])
})

test("removes the shared chains with the last pod that has a host port", () => {
  expect(removalOf(RULES, new Set(["one", "two"]))).toEqual([
    "-D PREROUTING -m addrtype --dst-type LOCAL -j CNI-HOSTPORT-DNAT",
    '-D POSTROUTING -m comment --comment "CNI portfwd requiring masquerade" -j CNI-HOSTPORT-MASQ',
    ...["F", "X"].flatMap((flag) =>
      ["CNI-DN-aaaa", "CNI-DN-bbbb", "CNI-HOSTPORT-DNAT", "CNI-HOSTPORT-MASQ", "CNI-HOSTPORT-SETMARK"].map(
        (chain) => `-${flag} ${chain}`,
      ),
    ),
  ])
})

test("does nothing when no plugin has left rules", () => {
  expect(removalOf("*nat\n:PREROUTING ACCEPT [0:0]\nCOMMIT", new Set(["one"]))).toEqual([])
})
