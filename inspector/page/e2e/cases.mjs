import assert from 'node:assert/strict';
import { join } from 'node:path';
import { assertAccessible, checkAccessible, openPage } from './browser.mjs';
import { send, startRun, status } from './steps.mjs';

const BRIEF = { question: 'What does it cost?', audience: 'Engineers', max_sources: 9, notify: [] };

async function shot(page, name) {
  if (process.env.SHOTS) await page.screenshot({ path: join(process.env.SHOTS, `${name}.png`) });
}

export const cases = {
  async 'a run is started by its form, watched live, answered, and completes'({ browser, server }) {
    const { page, problems, close } = await openPage(browser, server.url);
    await page.goto(`${server.url}#/workflows/briefing?start=1`);
    await page.click('.form-foot .primary');
    await page.waitForSelector('.field:has(#value_question) .bad');
    await shot(page, 'start-refused');
    await page.fill('#value_question', 'What does it cost?');
    await page.click('label:has-text("Engineers")');
    await page.fill('#value_max_sources', '9');
    await page.fill('#start-id', 'form-1');
    await page.fill('#start-tags', 'env:test');
    await page.click('.form-foot .primary');
    await status(page, 'running');
    await page.waitForSelector('.g .n.s-running');
    await shot(page, 'running');
    await status(page, 'waiting');
    await page.click('.row:has-text("sign_off")');
    await page.click('text=Answer in the inbox');
    await page.click('label:has-text("Publish")');
    await page.fill('#value_embargo_hours', '400');
    await page.click('.form-foot .primary');
    const refused = await page.textContent('.field:has(#value_embargo_hours) .bad');
    assert.match(refused, /168/);
    await shot(page, 'answer-refused');
    await page.fill('#value_embargo_hours', '4');
    await page.click('label:has-text("Mail")');
    await page.fill('#value_delivery_Mail_address', 'desk@example.org');
    await page.fill('#value_delivery_Mail_copies', '2');
    await page.fill('#answer-by', 'Ann');
    await page.click('.form-foot .primary');
    await page.waitForSelector('[role=status]:has-text("The answer is recorded")');
    await page.goto(`${server.url}#/runs/form-1`);
    await status(page, 'completed');
    await shot(page, 'completed');
    await page.click('.row:has-text("load_style")');
    await page.waitForSelector('.d-head .tag:has-text("pool styles")');
    assert.deepEqual(problems, []);
    await close();
  },

  async 'the first failure is selected, and a link leads to the same moment'({ browser, server }) {
    await startRun(server.url, 'briefing', 'fail-1', { ...BRIEF, question: 'fail' });
    const { page, problems, close } = await openPage(browser, server.url);
    await page.goto(`${server.url}#/runs/fail-1`);
    await status(page, 'failed');
    await page.goto('about:blank');
    await page.goto(`${server.url}#/runs/fail-1`);
    await page.waitForSelector('.detail h2:has-text("fetch[2]")');
    assert.match(await page.textContent('.detail .err'), /503 Service Unavailable/);
    assert.equal(await page.locator('.detail .att').count(), 3);
    await shot(page, 'failed');
    for (const key of ['Home', 'ArrowRight', 'ArrowRight', 'ArrowRight']) await page.keyboard.press(key);
    await page.waitForSelector('.asof:has-text("As of event 4")');
    await page.waitForFunction(() => location.hash.includes('at=3'));
    const link = page.url();
    const other = await openPage(browser, server.url);
    await other.page.goto(link);
    await other.page.waitForSelector('.asof:has-text("As of event 4")');
    assert.equal(await other.page.textContent('.detail h2'), 'fetch[2]');
    await page.keyboard.press('End');
    await page.waitForSelector('.asof', { state: 'detached' });
    await page.keyboard.press('Escape');
    await page.waitForSelector('.detail h2:has-text("This run")');
    assert.deepEqual([...problems, ...other.problems], []);
    await other.close();
    await close();
  },

  async 'a run is forked from a moment, retried and cancelled'({ browser, server }) {
    await startRun(server.url, 'briefing', 'steer-1', { ...BRIEF, question: 'fail' });
    const { page, problems, close } = await openPage(browser, server.url);
    await page.goto(`${server.url}#/runs/steer-1`);
    await status(page, 'failed');
    await page.click('.actions button:has-text("Retry")');
    await page.click('dialog .primary');
    await status(page, 'running');
    await status(page, 'failed');
    await page.waitForSelector('.retried');
    await shot(page, 'retried');
    await page.goto(`${server.url}#/runs/steer-1?at=5`);
    await page.waitForSelector('.asof');
    await page.click('.actions button:has-text("Fork")');
    await page.fill('dialog input[type=text]', 'steer-fork');
    await shot(page, 'fork');
    await page.click('dialog .primary');
    await page.waitForFunction(() => location.hash.startsWith('#/runs/steer-fork'));
    await page.waitForSelector('.r2:has-text("fork of steer-1")');
    await startRun(server.url, 'invoice', 'steer-2', 7);
    await page.goto(`${server.url}#/runs/steer-2`);
    await status(page, 'waiting');
    await page.click('.actions button:has-text("Cancel")');
    await page.click('dialog .danger');
    await status(page, 'cancelled');
    assert.deepEqual(problems, []);
    await close();
  },

  async 'a signal is sent by its form, once for each id'({ browser, server }) {
    await startRun(server.url, 'invoice', 'signal-1', 7);
    const { page, problems, close } = await openPage(browser, server.url, { bypassCSP: true });
    await page.goto(`${server.url}#/runs/signal-1?sel=invoice/wait_for_it`);
    await status(page, 'waiting');
    await page.click('.detail button:has-text("Send a signal")');
    assert.equal(await page.inputValue('dialog [name=signal]'), 'paid');
    await page.click('dialog button:has-text("As JSON")');
    await page.fill('dialog textarea', '{"cents": ');
    await page.waitForSelector('dialog .bad:has-text("not JSON")');
    assert.ok(await page.isDisabled('dialog .primary'));
    await page.fill('dialog textarea', '{}');
    await page.click('dialog button:has-text("As a form")');
    await page.click('dialog .primary');
    await page.waitForSelector('dialog .field:has(#value_cents) .bad');
    await page.fill('dialog #value_cents', '-1');
    await page.click('dialog .primary');
    await page.waitForSelector('dialog .field:has(#value_cents) .bad:has-text("-1")');
    await shot(page, 'signal-refused');
    await assertAccessible(page, 'the dialog of a signal');
    // For another name no node waits: the run has it, and another one of its id does not count.
    await page.fill('dialog [name=signal]', 'reminded');
    await page.fill('dialog textarea', 'null');
    await page.fill('dialog [name=id]', 'mail-1');
    await page.click('dialog .primary');
    await page.waitForSelector('dialog', { state: 'detached' });
    await page.click('.actions button:has-text("Signal")');
    await page.fill('dialog [name=signal]', 'reminded');
    await page.fill('dialog [name=id]', 'mail-1');
    await page.click('dialog .primary');
    await page.waitForSelector('dialog .refused:has-text("does not count")');
    await page.fill('dialog [name=signal]', 'paid');
    await page.fill('dialog #value_cents', '35');
    await page.fill('dialog #value_reference', 'order 7');
    await page.fill('dialog [name=by]', 'Ann');
    await page.click('dialog .primary');
    await status(page, 'completed');
    const { output } = await (await fetch(`${server.url}api/runs/signal-1/values?path=invoice`)).json();
    assert.equal(output.value, 42);
    assert.deepEqual(problems, []);
    await close();
  },

  async 'integers beyond 2^53 are sent as they are entered, and shown as they are'({ browser, server }) {
    const { page, problems, close } = await openPage(browser, server.url);
    for (const [id, largest, second] of [['large-form', '18446744073709551615', '9007199254740993'], ['large-json', '18446744073709551614', '9007199254740995']]) {
      const asJson = id === 'large-json';
      await page.goto(`${server.url}#/workflows/transfer?start=1`);
      if (asJson) {
        await page.click('button:has-text("As JSON")');
        await page.fill('.fields textarea', second);
      } else {
        await page.fill('#value', second);
      }
      await page.fill('#start-id', id);
      await page.click('.form-foot .primary');
      await status(page, 'waiting');
      await page.click('.row:has-text("ask_account")');
      await page.click('text=Answer in the inbox');
      await page.waitForSelector(`.kv dd:has-text("${second}")`);
      if (asJson) {
        await page.click('button:has-text("As JSON")');
        await page.fill('.fields textarea', `{"number": ${largest}, "others": [${second}, 7]}`);
        // The form has the same numbers.
        await page.click('button:has-text("As a form")');
        assert.equal(await page.inputValue('#value_number'), largest);
        assert.equal(await page.inputValue('#value_others_0'), second);
        await page.click('button:has-text("As JSON")');
        assert.ok((await page.inputValue('.fields textarea')).includes(largest));
      } else {
        await page.fill('#value_number', '1e19');
        await page.click('.form-foot .primary');
        await page.waitForSelector('.field:has(#value_number) .bad:has-text("1e19")');
        await page.fill('#value_number', '');
        await page.locator('#value_number').pressSequentially(largest);
        for (const [index, number] of [second, '7'].entries()) {
          await page.click('.entries > button:has-text("Add")');
          await page.fill(`#value_others_${index}`, number);
        }
        assert.equal(await page.inputValue('#value_number'), largest);
      }
      await page.click('.form-foot .primary');
      await page.waitForSelector('[role=status]:has-text("The answer is recorded")');
      await page.goto(`${server.url}#/runs/${id}?sel=transfer/ask_account`);
      await page.click('.detail button:has-text("Send a signal")');
      if (asJson) {
        await page.click('dialog button:has-text("As JSON")');
        await page.fill('dialog textarea', largest);
      } else {
        await page.fill('dialog #value', largest);
      }
      await page.click('dialog .primary');
      await status(page, 'completed');
      const values = await (await fetch(`${server.url}api/runs/${id}/values?path=transfer`)).text();
      assert.ok(values.includes(`[${second},${largest},${second},7,${largest}]`), values);
      await page.waitForSelector(`.detail .json:has-text("${second}"):has-text("${largest}")`);
    }
    assert.deepEqual(problems, []);
    await close();
  },

  async 'a workflow that a node has called opens in the place of the node'({ browser, server }) {
    await startRun(server.url, 'settlement', 'called-1', 7);
    const { page, problems, close } = await openPage(browser, server.url);
    await page.goto(`${server.url}#/runs/called-1?sel=-`);
    await status(page, 'waiting');
    await page.waitForSelector('.g .n.dyn:has-text("invoice")');
    await page.click('.g .n:has-text("settle") .fold-mark');
    await page.waitForSelector('.g .inside .n.s-waiting:has-text("wait_for_it")');
    await shot(page, 'called');
    await page.click('.g .inside .n:has-text("wait_for_it")');
    await page.waitForSelector('.detail h2:has-text("wait_for_it")');
    await page.click('.detail button:has-text("Send a signal")');
    await page.fill('dialog #value_cents', '1');
    await page.click('dialog .primary');
    await status(page, 'completed');
    await page.waitForSelector('.g .inside .n.s-completed:has-text("wait_for_it")');
    // A link to what is inside opens it.
    await page.goto('about:blank');
    await page.goto(`${server.url}#/runs/called-1?sel=settlement/settle/invoice/wait_for_it`);
    await page.waitForSelector('.g .inside .n.s-completed.sel:has-text("wait_for_it")');
    assert.deepEqual(problems, []);
    await close();
  },

  async 'a run that records 1,000 events a second is followed'({ browser, server }) {
    await startRun(server.url, 'busy', 'busy-1', 8);
    const { page, problems, close } = await openPage(browser, server.url);
    await page.goto(`${server.url}#/runs/busy-1?sel=-`);
    await status(page, 'running');
    const before = await page.evaluate(() => Number(document.querySelector('.track').getAttribute('aria-valuemax')));
    await page.waitForFunction((before) => Number(document.querySelector('.track').getAttribute('aria-valuemax')) > before, before);
    await status(page, 'completed');
    assert.deepEqual(problems, []);
    await close();
  },

  async 'the server is killed while the page is open, and the run comes back'(world) {
    const { page, problems, close } = await openPage(world.browser, world.server.url);
    await startRun(world.server.url, 'briefing', 'kill-1', BRIEF);
    await page.goto(`${world.server.url}#/runs/kill-1`);
    await page.waitForSelector('.g .n.s-completed');
    await world.restart(async () => {
      await page.waitForSelector('.conn.off');
      await shot(page, 'not-connected');
    });
    await page.waitForSelector('.conn:not(.off)');
    await status(page, 'waiting');
    // The token of the page is that of the last start: the page gets the new one.
    await page.click('.actions button:has-text("Cancel")');
    await page.click('dialog .danger');
    await status(page, 'cancelled');
    assert.deepEqual(problems, []);
    await close();
  },

  async 'mounted in an app, links stay at the path that the page was opened with'({ browser, server }) {
    await startRun(server.url, 'name_release', 'mounted/1', 'zero');
    for (const opened of [server.mounted, `${server.mounted}/deeper?of=app`]) {
      const { page, problems, close } = await openPage(browser, server.mounted);
      await page.goto(opened);
      await page.click('td a:has-text("mounted/1"), .mono:has-text("mounted/1")');
      await status(page, 'waiting');
      const at = page.url();
      assert.equal(at.split('#')[0], opened);
      assert.equal((await page.reload()).status(), 200);
      await status(page, 'waiting');
      await page.click('nav a:has-text("Workflows")');
      await page.waitForSelector('h1, h2');
      const links = await page.$$eval('a[href]', (all) => all.map((one) => one.href.split('#')[0]));
      assert.deepEqual(new Set(links), new Set([opened]));
      assert.deepEqual(problems, []);
      await close();
    }
  },

  async 'what users wrote is text'({ browser, server }) {
    const hostile = '<img src=x onerror=document.title="owned"><script>document.title="owned"</script>';
    await startRun(server.url, 'name_release', hostile, hostile);
    const { page, problems, close } = await openPage(browser, server.url);
    for (const hash of ['#/runs', `#/runs/${encodeURIComponent(hostile)}`, '#/inbox']) {
      await page.goto(server.url + hash);
      await page.waitForSelector('text=<script>');
      assert.equal(await page.locator('main img, main script').count(), 0);
      assert.notEqual(await page.title(), 'owned');
    }
    assert.deepEqual(problems, []);
    await close();
  },

  async 'what an agent and its model say is a conversation, and its JSON is a click away'({ browser, server }) {
    await startRun(server.url, 'desk', 'talk-1', 'Ada <i>wants</i> her money back');
    const { page, problems, close } = await openPage(browser, server.url, { bypassCSP: true });
    await page.goto(`${server.url}#/runs/talk-1?sel=desk/clerk`);
    await status(page, 'waiting');
    await page.waitForSelector('.talk .by-program:has-text("Ada <i>wants</i> her money back")');
    await page.waitForSelector('.talk .by-model:has-text("calls orders")');
    await page.waitForSelector('.talk .by-tool:has-text("order 7 of Ada, <b>1200</b> cents")');
    await page.waitForSelector('.talk .by-tool:has-text("May `pay_back` be called with this?")');
    await send(server.url, `runs/talk-1/answers/${encodeURIComponent('desk/clerk/pay_back:2.0/approve')}`, { answer: 'approve', by: 'Eve' });
    await status(page, 'completed');
    await page.waitForSelector('.talk .by-person:has-text("Eve")');
    await page.waitForSelector('.talk .by-model:has-text("<script>alert(1)</script> paid ⟨U+202E⟩back.")');
    assert.equal(await page.locator('.talk script, .talk i, .talk b:not(.cut)').count(), 0);
    const sides = await page.$$eval('.talk > li', (all) => all.map((one) => one.className.slice(3)));
    assert.deepEqual(sides, ['program', 'model', 'tool', 'model', 'tool', 'person', 'tool', 'model']);
    await shot(page, 'conversation');
    await assertAccessible(page, 'a conversation');
    await page.click('.talk > li:last-child .link');
    await page.waitForSelector('.detail h2:has-text("model:3")');
    await page.waitForSelector('.talk > li.by-model');
    await page.click('.detail summary:has-text("Reply as JSON")');
    await page.waitForSelector('.detail details pre:has-text("gen_ai")');
    assert.deepEqual(problems, []);
    await close();
  },

  async 'hidden characters are shown, in ids and in texts, and links still lead to them'({ browser, server }) {
    const hidden = 'bidi \u202egnp.exe\u200b';
    await startRun(server.url, 'name_release', hidden, hidden);
    const { page, problems, close } = await openPage(browser, server.url);
    for (const hash of ['#/runs', `#/runs/${encodeURIComponent(hidden)}`, '#/inbox']) {
      await page.goto('about:blank');
      await page.goto(server.url + hash);
      await page.waitForSelector('text=bidi ⟨U+202E⟩gnp.exe⟨U+200B⟩');
      const text = await page.evaluate(() => document.documentElement.outerHTML + document.title);
      assert.doesNotMatch(text.replace(/href="[^"]*"/g, ''), /[\u202e\u200b]/);
    }
    await page.goto(`${server.url}#/runs`);
    await page.click('.runs-row a:has-text("bidi")');
    await status(page, 'waiting');
    assert.deepEqual(problems, []);
    await close();
  },

  async 'a run of 20,000 events keeps the page small'({ browser, server }) {
    await startRun(server.url, 'wide', 'wide-1', 4000);
    const { page, problems, close } = await openPage(browser, server.url);
    await page.goto(`${server.url}#/runs/wide-1?sel=-`);
    await status(page, 'completed');
    await page.waitForFunction(() => Number(document.querySelector('.track').getAttribute('aria-valuemax')) > 20_000);
    const each = page.locator('.row:has-text("[prepare => work]")');
    // It is open already if the run was under way when the page opened.
    if ((await each.getAttribute('aria-expanded')) === 'false') await each.locator('.fold').click();
    await page.waitForSelector('.row[aria-level="2"]');
    const elements = await page.evaluate(() => document.querySelectorAll('*').length);
    assert.ok(elements < 4000, `${elements} elements`);
    await page.evaluate(() => document.querySelector('.wf').scrollTo(0, 1e9));
    await page.waitForSelector('.row:has-text("count")');
    await shot(page, 'wide');
    assert.deepEqual(problems, []);
    await close();
  },

  async 'runs are filtered and opened by the keyboard'({ browser, server }) {
    await startRun(server.url, 'invoice', 'keys-1', 1);
    const { page, problems, close } = await openPage(browser, server.url);
    await page.goto(`${server.url}#/runs`);
    await page.waitForSelector('.runs-body .runs-row');
    await page.keyboard.press('/');
    await page.keyboard.type('keys-');
    await page.waitForFunction(() => document.querySelectorAll('.runs-body .runs-row').length === 1);
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press('j');
    await page.waitForFunction(() => document.activeElement.getAttribute('role') === 'row');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => location.hash.startsWith('#/runs/keys-1'));
    await page.goBack();
    await page.waitForFunction(() => location.hash === '#/runs?q=keys-');
    assert.deepEqual(problems, []);
    await close();
  },

  async 'axe finds nothing, in light and dark'({ browser, server }) {
    await startRun(server.url, 'briefing', 'axe-1', BRIEF);
    await startRun(server.url, 'name_release', 'axe-2', '1.0');
    for (const hash of ['#/runs', '#/runs?q=no-such-run', '#/runs/axe-1', '#/runs/axe-1?at=12&sel=-', '#/runs/fail-1', '#/inbox', '#/workflows/briefing', '#/runs/gone']) {
      await checkAccessible(browser, server.url, hash);
    }
  },
};
