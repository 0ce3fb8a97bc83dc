// SPDX-License-Identifier: MIT
// `ortscope serve` alone, by Playwright: two programs are attached to from the page, one after the other, looked at
// and left by it. `o.pids` has both.
import {check, read, same, until} from './live_tools.mjs';

const row = (page, pid) => page.p.locator('#processes tbody tr').filter({has: page.p.locator('td', {hasText: new RegExp(`^${pid}$`)})});
const runsShown = async (page) => read(/; ([\d,]+) runs/.exec((await page.seen()).gauges.throughput.more)?.[1])?.[0] ?? 0;

async function attach(page, pid, number) {
    await until(`${pid} is offered`, async () => (await row(page, pid).count()) === 1 && row(page, pid).locator('button').isEnabled());
    await row(page, pid).locator('button', {hasText: 'Attach'}).click();
    await until(`${pid} is recorded`, async () => (await page.seen()).state.startsWith(`Attached and armed: recording node.exe (pid ${pid}).`),
                async () => page.seen());
    await until('its runs move', async () => (await runsShown(page)) > 20, async () => (await page.seen()).gauges);
    const {captures} = await page.api('metrics/current');
    same(`capture ${number}`, captures.map((c) => [c.capture, c.processes[0].pid, c.state]).at(-1), [number, pid, 'recording']);
}

async function detach(page, pid) {
    await page.click('#detach');
    await page.p.click('#ask-yes');
    await until(`${pid} is left`, async () => (await page.seen()).state.startsWith(`Detached from node.exe (pid ${pid}), which goes on.`),
                async () => page.seen());
    check('its summary is there', (await page.seen()).summary);
}

export async function serve(page, {pids}) {
    await until('nothing is recorded yet', async () => /^No capture yet/.test((await page.seen()).state), async () => page.seen());
    await attach(page, pids[0], 1);
    check('one capture needs no choice', !(await page.p.isVisible('#capture')));
    await attach(page, pids[1], 2);
    same('two can be chosen from', (await page.p.locator('#capture option').allInnerTexts()).map((t) => t.split(' ')[0]), ['1', '2']);
    for (const number of [1, 2, 1]) {
        await page.choose('#capture', String(number));
        await until(`capture ${number} is shown`, async () => (await page.seen()).target.startsWith(`pid ${pids[number - 1]} `));
        const before = await runsShown(page);
        await until('and moves', async () => (await runsShown(page)) > before);
    }
    await detach(page, pids[0]);
    await page.choose('#capture', '2');
    await until('the other goes on', async () => (await page.seen()).state.startsWith(`Attached and armed: recording node.exe (pid ${pids[1]}).`));
    const before = await runsShown(page);
    await until('and moves', async () => (await runsShown(page)) > before);
    await page.p.screenshot({path: `${page.folder}/serve.png`, fullPage: true});
    await detach(page, pids[1]);
    same('no errors', page.errors, []);
}
