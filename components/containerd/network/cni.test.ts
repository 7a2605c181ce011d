import { expect, test } from "bun:test"
import { cniConfig, defaultDevices } from "./cni.ts"

const FOLDER = "/run/k3ts/cni/networks"

test("the configuration of our plugin has the bridge, the MTU, the ranges and the capabilities", () => {
  const { plugins } = JSON.parse(cniConfig({ podCidrs: ["10.42.0.0/24", "fd42::/64"], mtu: 1400 }, FOLDER, "k3ts"))
  expect(plugins).toEqual([
    {
      type: "k3ts",
      capabilities: { portMappings: true, bandwidth: true },
      bridge: "cni0",
      mtu: 1400,
      ipam: { ranges: [[{ subnet: "10.42.0.0/24" }], [{ subnet: "fd42::/64" }]], dataDir: FOLDER },
    },
  ])
})

test.each([
  { title: "of IPv4", podCidrs: ["10.42.0.0/24"], routes: ["0.0.0.0/0"] },
  { title: "of IPv6", podCidrs: ["fd42::/64"], routes: ["::/0"] },
  {
    title: "of both families, in the order of the cluster's",
    podCidrs: ["fd42::/64", "10.42.0.0/24"],
    routes: ["::/0", "0.0.0.0/0"],
  },
])("the host's plugins give each pod an address $title and a default route", ({ podCidrs, routes }) => {
  const { plugins } = JSON.parse(cniConfig({ podCidrs, mtu: 1400 }, FOLDER, "bridge"))
  expect(plugins).toMatchObject([
    {
      type: "bridge",
      bridge: "cni0",
      isGateway: true,
      hairpinMode: true,
      mtu: 1400,
      ipam: {
        ranges: podCidrs.map((subnet) => [{ subnet }]),
        routes: routes.map((dst) => ({ dst })),
        dataDir: FOLDER,
      },
    },
    { type: "portmap", capabilities: { portMappings: true } },
  ])
})

const IPV4 = `Iface	Destination	Gateway 	Flags	RefCnt	Use	Metric	Mask		MTU	Window	IRTT
eth0	00000000	0100007F	0003	0	0	0	00000000	0	0	0
cni0	00002A0A	00000000	0001	0	0	0	00FFFFFF	0	0	0
`
const NOWHERE = "00000000000000000000000000000000"
const IPV6 = `fd420000000000000000000000000000 40 ${NOWHERE} 00 ${NOWHERE} 00000100 00000001 00000000 00000001     cni0
${NOWHERE} 00 ${NOWHERE} 00 20010db8000000000000000000000009 00000400 00000001 00000000 00000003     eth1
${NOWHERE} 00 ${NOWHERE} 00 ${NOWHERE} ffffffff 00000001 00000000 00200200       lo
`
test.each([
  { title: "IPv4", ipv4: IPV4, ipv6: "", wants: ["eth0"] },
  { title: "IPv6, but not a route that rejects packets", ipv4: "", ipv6: IPV6, wants: ["eth1"] },
  { title: "both families", ipv4: IPV4, ipv6: IPV6, wants: ["eth0", "eth1"] },
  { title: "no family", ipv4: "", ipv6: "", wants: [] },
])("the devices for pod traffic are those of the default routes of $title", ({ ipv4, ipv6, wants }) => {
  expect(defaultDevices(ipv4, ipv6)).toEqual(wants)
})
